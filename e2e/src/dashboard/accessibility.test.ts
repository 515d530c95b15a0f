import { isThorough, sampled } from '@mcm/kube/testing';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NO_PROBLEMS, pageProblems } from './axe.ts';
import { chromiumPath, startBrowser } from './browser.ts';
import { type DashboardStage, startStage } from './stage.ts';

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

/** The colors and widths of the pages. A plain run opens every second page with the first look. */
const LOOKS = [
  ['light', 400],
  ['light', 1_400],
  ['dark', 400],
  ['dark', 1_400],
] as const;

/** The accessibility of the dashboard in a real browser. Without Chromium, these tests are skipped. */
describe.skipIf(chromiumPath === undefined)('the pages of mcm dashboard', () => {
  let stage: DashboardStage;
  let browser: Awaited<ReturnType<typeof startBrowser>>;
  let page: Page;
  const problems: string[] = [];

  beforeAll(async () => {
    stage = await startStage();
    browser = await startBrowser(chromiumPath ?? '');
    page = await browser.context.newPage();
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    page.on('pageerror', (error) => problems.push(error.message));
  });
  afterAll(async () => {
    await browser?.close();
    await stage?.close();
  });

  test.each(sampled(LOOKS, LOOKS.length))(
    'all pages are accessible and fit the screen, in %s colors, %d px wide',
    async (colorScheme, width) => {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await page.setViewportSize({ width, height: 900 });
      for (const path of sampled(PAGES, 2)) {
        await page.goto(new URL(path, stage.url).href);
        await page.getByText('Live', { exact: true }).waitFor();
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

  test('the browser logged no errors', () => {
    expect(problems).toEqual([]);
  });
});
