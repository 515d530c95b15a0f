import { machineDeployments } from '@mcm/api';
import { pods } from '@mcm/kube';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { chromiumPath } from './browser.ts';
import { type DashboardStage, HOSTILE, NAMESPACE } from './stage.ts';
import { startView, type View } from './view.ts';

/** Counts the pixels of the chart that have the color of its line. */
const PIXELS_OF_THE_LINE = `(() => {
  const color = getComputedStyle(document.documentElement).getPropertyValue('--leaving').trim();
  const wanted = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
  const canvas = document.querySelector('.chart canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let found = 0;
  for (let at = 0; at < data.length; at += 4) if (wanted.every((value, part) => data[at + part] === value)) found += 1;
  return found;
})()`;

const BROKEN_NAMES = `[...document.querySelectorAll('.attention .why')].flatMap((element) => {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const broken = [];
  while (walker.nextNode() !== null)
    for (const { 0: word, index } of walker.currentNode.data.matchAll(/\\S+-\\S+/g)) {
      const range = document.createRange();
      range.setStart(walker.currentNode, index);
      range.setEnd(walker.currentNode, index + word.length);
      if (range.getClientRects().length > 1) broken.push(word);
    }
  return broken;
})`;

describe.skipIf(chromiumPath === undefined)('mcm dashboard in a browser', () => {
  let view: View;
  let stage: DashboardStage;
  let page: Page;

  beforeAll(async () => {
    view = await startView();
    ({ stage, page } = view);
  });
  afterAll(() => view?.close());

  const open = (path: string): Promise<void> => view.open(path);
  beforeEach(() => open('/'));

  const tile = (name: string, state: string) => page.getByRole('link', { name: new RegExp(`^${name}\\s*: ${state}`) });

  test('the first page shows each machine as a tile with its state, and the counts', async () => {
    await tile('workers-1', 'Ready').waitFor();
    await tile('workers-2', 'Starting').waitFor();
    await tile('workers-3', 'Failed').waitFor();
    await tile('workers-4', 'Blocked').waitFor();
    for (const [state, number] of [
      ['Ready', 1],
      ['Starting', 1],
      ['Blocked', 1],
      ['Failed', 1],
    ]) {
      await page.getByRole('button', { name: `${number} ${state}` }).waitFor();
    }
    await page.getByRole('link', { name: '1 blocked drain' }).waitFor();
  });

  test('each problem has its whole reason on the first page', async () => {
    const reason =
      `the cloud refused the VM: ${'the subnet eu-west-1b-nodes-4 has no free address; '.repeat(6)}`.trim();
    await stage.setPhase('workers-2', 'Unknown', reason);
    await page.setViewportSize({ width: 1_400, height: 900 });
    await page.getByText(reason.slice(0, 40)).first().waitFor();
    const cut = `[...document.querySelectorAll('.attention .why')]
      .filter((element) => element.scrollWidth > element.clientWidth).map((element) => element.textContent)`;
    expect(await page.evaluate(cut)).toEqual([]);
    await page.setViewportSize({ width: 400, height: 900 });
    expect(await page.evaluate(BROKEN_NAMES)).toEqual([]);
    await page.setViewportSize({ width: 1_280, height: 900 });
    await stage.setPhase('workers-2', 'Pending');
    await tile('workers-2', 'Starting').waitFor();
  });

  test('a change draws only its own tile, without a reload', async () => {
    await page.evaluate(`globalThis.touched = [];
      new MutationObserver((all) => {
        for (const { target } of all) globalThis.touched.push((target.closest?.('.tile') ?? target).dataset?.key ?? '');
      }).observe(document.querySelector('.grid'), { subtree: true, childList: true, attributes: true })`);
    await stage.setPhase('workers-2', 'Unknown', 'kubelet is silent');
    await tile('workers-2', 'Blocked').waitFor();
    expect(new Set((await page.evaluate('globalThis.touched')) as string[])).toEqual(new Set(['default/workers-2']));
    await stage.setPhase('workers-2', 'Pending');
    await tile('workers-2', 'Starting').waitFor();
    await stage.addMachine('workers-5', 'Pending');
    await tile('workers-5', 'Starting').waitFor();
  });

  test('the search and the states filter the tiles, and the address keeps the filters', async () => {
    await page.getByRole('searchbox').fill('workers-1');
    await tile('workers-2', 'Starting').waitFor({ state: 'detached' });
    await tile('workers-1', 'Ready').waitFor();
    await page.getByRole('searchbox').fill('');
    await page.getByRole('button', { name: /Failed/ }).click();
    await tile('workers-1', 'Ready').waitFor({ state: 'detached' });
    expect(new URL(page.url()).search).toBe('?state=failed');
    await page.reload();
    await tile('workers-3', 'Failed').waitFor();
    expect(await tile('workers-1', 'Ready').count()).toBe(0);
    await page.getByRole('button', { name: /Failed/ }).click();
    await page.getByLabel('Group by').selectOption('cls');
    await page
      .getByRole('group', { name: /^small/ })
      .first()
      .waitFor();
  });

  test('the keyboard alone reaches every tile, follows links, and skips to the content', async () => {
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('content');
    const focused = (): Promise<unknown> => page.evaluate('document.activeElement.dataset.key ?? ""');
    for (let presses = 0; presses < 60 && (await focused()) === ''; presses += 1) await page.keyboard.press('Tab');
    expect(await focused()).toBe('default/workers-1');
    await page.keyboard.press('ArrowRight');
    expect(await focused()).toBe('default/workers-2');
    await page.keyboard.press('End');
    expect(await focused()).toBe('default/workers-5');
    await page.keyboard.press('Home');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'workers-1' }).waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('content');
  });

  test('the page of a machine shows its life, its waits with reasons, and follows changes', async () => {
    await open('/machines/default/workers-1');
    await page.getByText('It is Running. No action is pending.').waitFor();
    await stage.setPhase('workers-1', 'Unknown', 'kubelet is silent');
    const life = page.getByRole('region', { name: 'Life' });
    await life.getByRole('row', { name: /Blocked.*kubelet is silent/ }).waitFor();
    await stage.setPhase('workers-1', 'Running');
    await expect.poll(() => life.locator('.life-track .bar').count(), { timeout: 20_000 }).toBeGreaterThanOrEqual(3);
    expect(await life.getByRole('row', { name: /Ready/ }).count()).toBe(2);
    await page.getByRole('link', { name: 'small' }).first().click();
    await page.getByText('kind: MachineClass').waitFor();
  });

  test('the page of a drain shows the pods and the budget that blocks it, until the pods are gone', async () => {
    await open('/drains');
    await page.getByText(/budget default\/web/).waitFor();
    await page.getByRole('img', { name: '1 of 1 pods are left on workers-4' }).waitFor();
    await open('/machines/default/workers-4');
    const drain = page.getByRole('region', { name: 'Drain' });
    await drain.getByText(/1 left: .*budget default\/web/).waitFor();
    await expect.poll(() => page.evaluate(PIXELS_OF_THE_LINE), { timeout: 20_000 }).toBeGreaterThan(100);
    await stage.client.resource(pods, NAMESPACE).delete('web-0', { gracePeriodSeconds: 0 });
    await drain.getByText('Pods left 0').waitFor();
  });

  test('a deleted machine keeps its page with the last state, and its successor', async () => {
    await stage.addMachine('workers-6', 'Failed', { description: 'disk broke' });
    await tile('workers-6', 'Failed').waitFor();
    await stage.remove('workers-6');
    await tile('workers-6', 'Failed').waitFor({ state: 'detached' });
    await stage.addMachine('workers-7', 'Pending');
    await tile('workers-7', 'Starting').waitFor();
    await open('/machines/default/workers-6');
    await page.getByText('Does not exist').waitFor();
    await page.getByText(/The last state was Failed: disk broke/).waitFor();
    await page.getByRole('region', { name: 'Life' }).getByText('gone').waitFor();
  });

  test('a rollout shows its progress over time, its machines as lanes, and how to continue', async () => {
    const workers = stage.client.resource(machineDeployments, NAMESPACE);
    const pause = (paused: boolean) => workers.patch('workers', { type: 'merge', body: { spec: { paused } } });
    await open('/rollouts/default/workers');
    await page.getByRole('img', { name: /Desired, updated, available and all machines of workers/ }).waitFor();
    await page.getByRole('link', { name: /workers-3\s*: Failed/ }).waitFor();
    await pause(true);
    await page.getByText('Paused', { exact: true }).waitFor();
    await page.getByRole('listitem').getByText('mcm rollout resume workers').waitFor();
    await pause(false);
    await page.getByText('Rolling out', { exact: true }).waitFor();
  });

  test('names and messages are rendered as text', async () => {
    await open('/machines/default/workers-3');
    await page.getByText(HOSTILE).first().waitFor();
    await open(`/?q=${encodeURIComponent('"><script>globalThis.owned=1</script>')}`);
    await page.getByText('No machine matches the filters.').waitFor();
    expect(await page.evaluate('globalThis.owned')).toBeUndefined();
    expect(await page.locator('img').count()).toBe(0);
  });

  test('the content security policy refuses markup from text, and styles and scripts from elsewhere', async () => {
    const refused = (code: string) =>
      page.evaluate(`(() => { try { ${code}; return 'done'; } catch (error) { return error.name; } })()`);
    expect(await refused(`document.body.innerHTML = '<img src=x onerror="globalThis.owned=1">'`)).toBe('TypeError');
    expect(await refused(`document.body.setAttribute('onclick', 'globalThis.owned=1')`)).toBe('TypeError');
    expect(await refused(`trustedTypes.createPolicy('mcm', { createHTML: (text) => text })`)).toBe('TypeError');
    view.problems.length = 0;
  });

  test('the browser logged no errors', () => {
    expect(view.problems).toEqual([]);
  });
});
