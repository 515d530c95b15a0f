import { join } from 'node:path';
import { machineDeployments } from '@mcm/api';
import { pods } from '@mcm/kube';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { chromiumPath, startBrowser } from './browser.ts';
import { POOR_CONTRAST } from './contrast.ts';
import { type DashboardStage, HOSTILE, NAMESPACE, startStage } from './fleet.ts';

/** The dashboard in a real browser; skipped, and counted as such, where there is no Chromium. */
describe.skipIf(chromiumPath === undefined)('mcm dashboard in a browser', () => {
  let stage: DashboardStage;
  let browser: Awaited<ReturnType<typeof startBrowser>>;
  let page: Page;
  const complaints: string[] = [];

  beforeAll(async () => {
    stage = await startStage();
    browser = await startBrowser(chromiumPath ?? '');
    page = await browser.context.newPage();
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
  });
  afterAll(async () => {
    await browser?.close();
    await stage?.close();
  });
  beforeEach(async () => {
    await page.goto(stage.url);
    await page.getByText('Live.').waitFor();
  });

  const row = (name: string) => page.getByRole('row').filter({ has: page.getByRole('rowheader', { name }) });

  test('shows deployments, machines and the drain with what blocks it', async () => {
    await page
      .getByText(/1 deployment, 1 not complete; 1 Failed, 1 Pending, 1 Running, 1 Terminating; 1 drain/)
      .waitFor();
    expect(await row('workers-1').textContent()).toMatch(/Running\s*workers-1, Ready\s*small/);
    expect(await row('workers-2').textContent()).toContain('Pending');
    const drain = page.getByRole('region', { name: 'Drains' });
    await drain.getByText(/default\/web-0\s+is blocked/).waitFor();
    expect(await drain.textContent()).toMatch(/blocked by:\n.*budget default\/web/);
    await page.getByText('Explain workers', { exact: true }).click();
    const wider = '[...document.querySelectorAll(".wide, pre")].filter((e) => e.scrollWidth > e.clientWidth).length';
    expect(await page.evaluate(wider), 'nothing is cut off').toBe(0);
    const size = page.viewportSize();
    await page.setViewportSize({ width: 400, height: 900 });
    expect(await page.evaluate(wider), 'nor on a telephone, where a row is a paragraph').toBe(0);
    expect(await page.evaluate('document.scrollingElement.scrollWidth')).toBe(400);
    expect(await row('workers-1').getByRole('cell').count()).toBe(5);
    if (size) await page.setViewportSize(size);
    await page.getByText(/machinedeployment workers\n\s+wants\s+4 machines of class small/).waitFor();
  });

  test('follows what happens without a reload, and keeps focus and what was opened', async () => {
    await page.evaluate('globalThis.kept = true');
    await page.getByText('Explain workers', { exact: true }).click();
    await page.getByRole('link', { name: 'workers-1' }).focus();
    await stage.addMachine('workers-5', 'Pending');
    await row('workers-5').getByText('Pending').waitFor();
    await stage.setPhase('workers-5', 'Running');
    await row('workers-5').getByText('Running').waitFor();
    await stage.setPhase('workers-2', 'Failed', 'no capacity');
    await row('workers-2').getByText('no capacity').waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toBe('workers-1');
    expect(await page.evaluate('document.querySelector("details").open')).toBe(true);
    expect(await page.evaluate('globalThis.kept')).toBe(true);
  });

  test('a paused rollout shows how to continue it', async () => {
    const workers = stage.client.resource(machineDeployments, NAMESPACE);
    const pause = (paused: boolean) => workers.patch('workers', { type: 'merge', body: { spec: { paused } } });
    await pause(true);
    await row('workers').getByText('Paused', { exact: true }).waitFor();
    await row('workers').getByRole('listitem').getByText('mcm rollout resume workers').waitFor();
    await pause(false);
    await row('workers').getByText('Under way', { exact: true }).waitFor();
  });

  test('a pod that goes is seen in the drain at once, by its own watch', async () => {
    const drain = page.getByRole('region', { name: 'Drains' });
    await drain.getByText(/default\/web-0\s+is blocked/).waitFor();
    await stage.client.resource(pods, NAMESPACE).delete('web-0', { gracePeriodSeconds: 0 });
    await drain.getByText('node workers-4 has no pods').waitFor();
  });

  test('a machine has a page that says what explain says, and is as live', async () => {
    await page.getByRole('link', { name: 'workers-1' }).click();
    await page.getByRole('heading', { level: 1, name: 'Machine workers-1' }).waitFor();
    await page.getByText('It is Running. No action is pending.').waitFor();
    await stage.setPhase('workers-1', 'Unknown', 'kubelet is silent');
    await page.getByText(/machine workers-1 \(Unknown\): kubelet is silent/).waitFor();
    await stage.setPhase('workers-1', 'Running');
    await page.getByText('It is Running. No action is pending.').waitFor();
  });

  test('names and messages are rendered as text', async () => {
    await row('workers-3').getByText(HOSTILE).waitFor();
    await page.goto(`${stage.url}?q=${encodeURIComponent(`"><script>globalThis.owned=1</script>`)}`);
    await page.getByText('0 of').waitFor();
    expect(await page.getByRole('searchbox').inputValue()).toBe('"><script>globalThis.owned=1</script>');
    expect(await page.evaluate('globalThis.owned')).toBeUndefined();
    expect(await page.locator('img').count()).toBe(0);
  });

  test('markup that got into the page all the same would not run', async () => {
    const refused = (code: string) =>
      page.evaluate(`(() => { try { ${code}; return 'done'; } catch (error) { return error.name; } })()`);
    const image = `'<img src=x onerror="globalThis.owned=1">'`;
    expect(await refused(`document.body.innerHTML = ${image}`)).toBe('TypeError');
    expect(await refused(`document.body.setAttribute('onclick', 'globalThis.owned=1')`)).toBe('TypeError');
    // The dashboard's own policy lets markup in, and still nothing in it runs.
    const holder = `document.querySelector('main').appendChild(document.createElement('p'))`;
    expect(await refused(`${holder}.innerHTML = policy.createHTML(${image})`)).toBe('done');
    await page.locator('img').waitFor({ state: 'attached' });
    expect(await page.evaluate('globalThis.owned')).toBeUndefined();
    complaints.length = 0; // The browser logged these errors.
  });

  test('is used by the keyboard alone: skip link, theme, filter', async () => {
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('content');
    await page.getByRole('searchbox', { name: 'Name, phase, node or class' }).fill('workers-1 running');
    await page.keyboard.press('Enter');
    await page.getByText('1 of 5 shown.').waitFor();
    expect(await row('workers-2').count()).toBe(0);
  });

  test('has landmarks, one first heading, headers of columns and rows, and names for what can be used', async () => {
    for (const role of ['banner', 'main'] as const) expect(await page.getByRole(role).count(), role).toBe(1);
    expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
    for (const name of ['Deployments', 'Drains', 'Machines', 'Events']) {
      expect(await page.locator(`section[aria-labelledby="${name.toLowerCase()}-heading"]`).count(), name).toBe(1);
    }
    expect(await page.evaluate('[...document.querySelectorAll("thead th")].every((th) => th.scope === "col")')).toBe(
      true,
    );
    for (const name of ['Deployments', 'Machines'] as const) {
      expect(await page.getByRole('table', { name, exact: true }).count(), name).toBe(1);
      expect(await page.getByRole('region', { name, exact: true }).count(), name).toBe(1);
    }
    const nameless = `[...document.querySelectorAll('a, button, input, progress, summary')]
      .filter((e) => !(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length)).length`;
    expect(await page.evaluate(nameless)).toBe(0);
    expect(await page.evaluate('new Set([...document.querySelectorAll("[id]")].map((e) => e.id)).size')).toBe(
      await page.evaluate('document.querySelectorAll("[id]").length'),
    );
    expect(await page.evaluate('document.documentElement.lang')).toBe('en');
    expect(await page.getByRole('status').textContent()).toBe('Live.');
  });

  test('is dark or light as the system says, or as the button says, and can be read in both', async () => {
    const back = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
    const shots = process.env.MCM_SCREENSHOTS;
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await back()).toBe(colorScheme === 'dark' ? 'rgb(15, 20, 25)' : 'rgb(255, 255, 255)');
      expect(await page.evaluate(POOR_CONTRAST), colorScheme).toEqual([]);
      if (shots) await page.screenshot({ path: join(shots, `${colorScheme}.png`), fullPage: true });
    }
    const button = page.getByRole('button', { name: /Theme/ });
    await button.click();
    expect(await button.textContent()).toBe('Theme: light');
    expect(await back()).toBe('rgb(255, 255, 255)');
    await button.click();
    await page.emulateMedia({ colorScheme: 'light' });
    expect(await back()).toBe('rgb(15, 20, 25)');
    await page.reload();
    expect(await back(), 'kept over a reload').toBe('rgb(15, 20, 25)');
    await button.click();
    expect(await button.textContent()).toBe('Theme: as the system');
  });

  test('shows when its server is stopped, and continues when it is started again', async () => {
    const again = await stage.interrupt();
    await page.getByText('Connection lost').waitFor();
    await again();
    await page.getByText('Live.').waitFor();
    await stage.addMachine('workers-6', 'Pending');
    await row('workers-6').getByText('Pending').waitFor();
    complaints.length = 0; // The browser logs a lost connection.
  });

  test('the browser had nothing to complain of', () => {
    expect(complaints).toEqual([]);
  });
});
