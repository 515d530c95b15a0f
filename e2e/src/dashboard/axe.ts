import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

const VIOLATIONS = `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] })
  .then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map((n) => n.html).join(' ')))`;

const TOO_WIDE = 'document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth';

/** The accessibility problems of a page, and the number of pixels by which the page is wider than the window. */
export interface PageProblems {
  readonly tooWide: unknown;
  readonly violations: unknown;
}

export async function pageProblems(page: Page): Promise<PageProblems> {
  const tooWide = await page.evaluate(TOO_WIDE);
  await page.evaluate(await readFile(AXE, 'utf8'));
  return { tooWide, violations: await page.evaluate(VIOLATIONS) };
}

export const NO_PROBLEMS: PageProblems = { tooWide: 0, violations: [] };
