import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Ended, EXIT_CODES, exitCodesOf } from './exit-codes.ts';

function rowsOf({ code, means, of = {} }: (typeof EXIT_CODES)[number]): string[] {
  const own = Object.entries(of).map(([command, text]) => `| ${code} | \`${command}\` | ${text} |`);
  return [...own, ...(means === undefined ? [] : [`| ${code} | all others | ${means} |`])];
}

test('the README lists all exit codes with the texts of the commands', () => {
  const page = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const rows = page.split('\n').filter((line) => /^\| \d+ /.test(line));
  expect(rows.map((row) => row.replaceAll(/ +/g, ' '))).toEqual(EXIT_CODES.flatMap(rowsOf));
});

test('a command has its own exit codes and the common ones', () => {
  expect(exitCodesOf('tree')).toEqual([
    [0, 'done'],
    [1, 'error; the message is on standard error'],
    [130, 'Ctrl-C ended the command (SIGTERM: 143, hang-up: 129, closed pipe: 141)'],
  ]);
  expect(exitCodesOf('plan').map(([code]) => code)).toEqual([0, 1, 2, 4, 130]);
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)('a command that ends because of %s returns %i', (signal, code) => {
  expect(new Ended(signal).code).toBe(code);
});
