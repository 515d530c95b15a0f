import type { Page } from 'playwright-core';
import { chromiumPath, startBrowser } from './browser.ts';
import { type DashboardStage, startStage } from './stage.ts';

/** A browser page that shows the dashboard of a stage. */
export interface View {
  readonly stage: DashboardStage;
  readonly page: Page;
  /** The errors in the console of the browser. */
  readonly problems: string[];
  /** Opens a path of the dashboard, and waits for its live data. */
  open(path: string): Promise<void>;
  close(): Promise<void>;
}

export async function startView(): Promise<View> {
  const stage = await startStage();
  const browser = await startBrowser(chromiumPath ?? '').catch(async (error: unknown) => {
    await stage.close();
    throw error;
  });
  const page = await browser.context.newPage();
  const problems: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(error.message));
  return {
    stage,
    page,
    problems,
    async open(path) {
      await page.goto(new URL(path, stage.url).href);
      await page.getByText('Live', { exact: true }).waitFor();
    },
    async close() {
      await browser.close();
      await stage.close();
    },
  };
}
