import { isThorough, sampled } from '@mcm/kube/testing';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NO_PROBLEMS, pageProblems } from './axe.ts';
import { chromiumPath } from './browser.ts';
import type { DashboardStage } from './stage.ts';
import { startView, type View } from './view.ts';

const PAGES = [
  '/',
  '/machines',
  '/rollouts',
  '/drains',
  '/events',
  '/system',
  '/rollouts/default/workers',
  '/machines/default/workers-4',
  '/yaml/machine/default/workers-1',
];

const LOOKS = [
  ['light', 400],
  ['light', 1_400],
  ['dark', 400],
  ['dark', 1_400],
] as const;

/** Properties of all pages of the dashboard in a real browser. */
describe.skipIf(chromiumPath === undefined)('every page of mcm dashboard', () => {
  let view: View;
  let stage: DashboardStage;
  let page: Page;

  beforeAll(async () => {
    view = await startView();
    ({ stage, page } = view);
  });
  afterAll(() => view?.close());

  const open = (path: string): Promise<void> => view.open(path);

  test.each(sampled(LOOKS, LOOKS.length))(
    'all pages are accessible and fit the screen, in %s colors, %d px wide',
    async (colorScheme, width) => {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await page.setViewportSize({ width, height: 900 });
      for (const path of sampled(PAGES, 2)) {
        await open(path);
        await page.getByRole('heading', { level: 1 }).waitFor({ state: 'attached' });
        if (path.split('/').length > 2) await page.locator('pre').waitFor();
        expect([path, width, await pageProblems(page)]).toEqual([path, width, NO_PROBLEMS]);
      }
    },
  );

  test.runIf(isThorough)('a page with a problem is reported', async () => {
    await page.evaluate(
      `document.querySelector('h1').insertAdjacentElement('afterend', document.createElement('button'))`,
    );
    const { violations } = await pageProblems(page);
    expect(violations).toEqual(expect.arrayContaining([expect.stringMatching(/^button-name: /)]));
  });

  test('a page shows that the details of an object are loading', async () => {
    const held = Promise.withResolvers<void>();
    await page.route('**/api/rollouts/**', async (route) => {
      await held.promise;
      await route.continue();
    });
    await open('/rollouts/default/workers');
    await page.getByText('Loading …').waitFor();
    held.resolve();
    await page.locator('pre').waitFor();
    expect(await page.getByText('Loading …').count()).toBe(0);
    await page.unroute('**/api/rollouts/**');
  });

  test('the button selects the theme, and a reload keeps it', async () => {
    await open('/');
    const back = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
    await page.emulateMedia({ colorScheme: 'light' });
    const button = page.getByRole('button', { name: /Theme/ });
    await button.click();
    expect(await button.textContent()).toBe('Theme: light');
    await button.click();
    expect(await back()).toBe('rgb(13, 18, 24)');
    await page.reload();
    expect(await back()).toBe('rgb(13, 18, 24)');
    await button.click();
    expect(await button.textContent()).toBe('Theme: system');
  });

  test('the page shows when its server is stopped, and continues when it is started again', async () => {
    await open('/');
    const again = await stage.interrupt();
    await page.getByText('Connection lost').waitFor();
    await again();
    await page.getByText('Live', { exact: true }).waitFor();
    await stage.addMachine('workers-9', 'Pending');
    await page.getByRole('link', { name: /^workers-9\s*: Starting/ }).waitFor();
    view.problems.length = 0; // The browser logs a lost connection.
  });

  test('a user who lost the permission leaves the page for the login page', async () => {
    await open('/');
    await page.route(/\/(live|machines)$/, async (route) => {
      const isPage = route.request().resourceType() === 'document';
      await route.fulfill(isPage ? { contentType: 'text/html', body: '<h1>mcm dashboard</h1>' } : { status: 403 });
    });
    await page.evaluate(`history.pushState(null, '', '/machines')`);
    const again = await stage.interrupt();
    await again();
    await page.getByRole('heading', { name: 'mcm dashboard' }).waitFor();
    await page.unroute(/\/(live|machines)$/);
    view.problems.length = 0; // The browser logs refused requests.
  });

  test('the browser logged no errors', () => {
    expect(view.problems).toEqual([]);
  });
});
