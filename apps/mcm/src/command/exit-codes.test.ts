import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Ended, EXIT_CODES, exitCodesOf } from './exit-codes.ts';

/** What the README says of a code. */
function rowOf({ code, means, of = {} }: (typeof EXIT_CODES)[number]): string {
  const own = Object.entries(of).map(([command, text]) => `\`${command}\`: ${text}`);
  return `| ${code} | ${[...(means === undefined ? [] : [means]), ...own].join('; ')} |`;
}

test('the README tells all of them as the commands do', () => {
  const page = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const rows = page.split('\n').filter((line) => /^\| \d+ /.test(line));
  expect(rows.map((row) => row.replaceAll(/ +/g, ' '))).toEqual(EXIT_CODES.map(rowOf));
});

test('a command has its own and those of every command', () => {
  expect(exitCodesOf('tree')).toEqual([
    [0, 'done'],
    [1, 'a sentence on standard error says what is wrong'],
    [130, 'ended by Ctrl-C (by SIGTERM 143, by a hang-up 129)'],
  ]);
  expect(exitCodesOf('plan').map(([code]) => code)).toEqual([0, 1, 2, 4, 130]);
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)('who is ended by %s tells %i', (signal, code) => {
  expect(new Ended(signal).code).toBe(code);
});
