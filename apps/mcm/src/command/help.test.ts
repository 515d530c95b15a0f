import { expect, test } from 'vitest';
import { createProgram } from '../program.ts';
import { leavesOf } from './help.ts';

test('the error for a misspelled flag omits its value and names the most similar flag', () => {
  const program = createProgram({
    say: () => undefined,
    random: { next: () => 0.5 },
    signal: () => new AbortController().signal,
    stdout: process.stdout,
  });
  const reported = leavesOf(program).flatMap(({ path, command }) => {
    if (path !== 'tree' && path !== 'up') return [];
    let text = '';
    command.configureOutput().outputError?.("error: unknown option '--namespce=x'\n", (part) => {
      text += part;
    });
    return [`${path}: ${text.trim()}`];
  });
  expect(reported).toEqual([
    'up: mcm: unknown flag --namespce',
    'tree: mcm: unknown flag --namespce; did you mean --namespace?',
  ]);
});
