import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Html, html } from './html.ts';

test('text is escaped for elements and for attributes in quotes', () => {
  expect(html`<p title="${`"'<>&`}">${'<script>'}</p>`.text).toBe(
    '<p title="&quot;&#39;&lt;&gt;&amp;">&lt;script&gt;</p>',
  );
});

test('markup is inserted unchanged, lists are joined, and undefined is empty', () => {
  expect(html`<ul>${['a', 'b<'].map((item) => html`<li>${item}</li>`)}${undefined}${3}</ul>`.text).toBe(
    '<ul><li>a</li><li>b&lt;</li>3</ul>',
  );
});

test('invisible and bidirectional control characters are shown as their code', () => {
  expect(html`${'a\u202Eb\u0000c\u2066d\ne'}`.text).toBe('a\uFFFDb\uFFFDc\uFFFDd\ne');
});

test('a text cannot leave its element or attribute', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const { text: written } = html`${text}`;
      expect(written).not.toMatch(/[<>"']/);
      expect(written.replaceAll(/&(amp|lt|gt|quot|#39);/g, '')).not.toContain('&');
    }),
  );
});

test('an object that only looks like markup is text', () => {
  const forged = { text: '<b>' } as unknown as Html;
  expect(html`${forged instanceof Html ? forged : String(forged)}`.text).toBe('[object Object]');
});
