import type { Nodes } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmTableFromMarkdown } from 'mdast-util-gfm-table';
import { gfmTable } from 'micromark-extension-gfm-table';
import { visit } from 'unist-util-visit';
import { CODE, type Text } from './texts.ts';

/** Returns the prose of a Markdown page: paragraphs, headings and table cells, without code. */
export function textsOfPage(markdown: string): Text[] {
  const tree = fromMarkdown(withoutFrontMatter(markdown), {
    extensions: [gfmTable()],
    mdastExtensions: [gfmTableFromMarkdown()],
  });
  const found: Text[] = [];
  const quoted = badExamples(tree);
  const headings = headingsOf(tree);
  visit(tree, (node) => {
    if (quoted.has(node)) return;
    if (node.type !== 'paragraph' && node.type !== 'heading' && node.type !== 'tableCell') return;
    const text = plain(node).trim();
    const line = node.position?.start.line ?? 1;
    if (!/[A-Za-z]/.test(text)) return;
    const code = codeOf(node);
    const own = { line, text, code: code.length > 0 ? code : undefined };
    if (node.type !== 'tableCell') found.push({ kind: 'doc', ...own });
    else found.push({ kind: 'cell', ...own, shown: shown(node).trim().length, headings: headings.get(node) ?? [] });
  });
  return found;
}

function badExamples(tree: Nodes): ReadonlySet<Nodes> {
  const found = new Set<Nodes>();
  visit(tree, 'table', ({ children: [head, ...rows] }) => {
    const column = head?.children.findIndex((cell) => plain(cell) === 'Instead of') ?? -1;
    for (const { children } of rows) {
      const cell = children[column];
      if (cell !== undefined) found.add(cell);
    }
  });
  return found;
}

/** Returns the headings of each table cell: the headings of its column and of its row. */
function headingsOf(tree: Nodes): ReadonlyMap<Nodes, readonly string[]> {
  const found = new Map<Nodes, readonly string[]>();
  visit(tree, 'table', ({ children: [head, ...rows] }) => {
    for (const { children } of rows) {
      children.forEach((cell, index) => {
        const column = head?.children[index];
        const row = index === 0 ? undefined : children[0];
        found.set(
          cell,
          [column, row].flatMap((heading) => (heading === undefined ? [] : [shown(heading).trim()])),
        );
      });
    }
  });
  return found;
}

function codeOf(node: Nodes): string[] {
  if (node.type === 'inlineCode') return [`\`${node.value}\``];
  return 'children' in node ? node.children.flatMap(codeOf) : [];
}

/** Returns the visible text including code. */
function shown(node: Nodes): string {
  if (node.type === 'inlineCode' || node.type === 'text') return node.value;
  return 'children' in node ? node.children.map(shown).join('') : '';
}

/** Returns the text for the search of phrases. Code is replaced by a placeholder, because the search ignores names. */
function plain(node: Nodes): string {
  if (node.type === 'inlineCode') return CODE;
  if (node.type === 'text') return node.value;
  if (node.type === 'break') return '\n';
  return 'children' in node ? node.children.map(plain).join('') : '';
}

/**
 * Removes the front matter, which contains the packages of a changeset. Blank lines replace the front matter, so that
 * line numbers stay correct.
 */
function withoutFrontMatter(markdown: string): string {
  return markdown.replace(/^---\n[\s\S]*?\n---\n/, (front) => front.replace(/[^\n]+/g, ''));
}
