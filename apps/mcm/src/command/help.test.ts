import { expect, onTestFinished, test, vi } from 'vitest';
import { createProgram } from '../program.ts';
import { leavesOf } from './help.ts';

const programOf = () =>
  createProgram({
    say: () => undefined,
    random: { next: () => 0.5 },
    signal: () => new AbortController().signal,
    stdout: process.stdout,
  });

test('the error for a misspelled flag omits its value and names the most similar flag', () => {
  const program = programOf();
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

test.each([
  [['plan', '--nowhere'], 2],
  [['config', 'diff'], 2],
  [['tree', '--nowhere'], 1],
  [['plan', '--help'], 0],
])('the usage of %j ends with exit code %i, because 1 of a plan and of a diff means changes', async (words, expected) => {
  const exit = vi.spyOn(process, 'exit').mockImplementation((code) => {
    throw new Error(`exit ${code}`);
  });
  onTestFinished(() => exit.mockRestore());
  const program = programOf();
  const silent = { writeOut: () => undefined, writeErr: () => undefined };
  for (const { command } of leavesOf(program)) command.configureOutput(silent);
  await expect(program.parseAsync(words, { from: 'user' })).rejects.toThrow(`exit ${expected}`);
});
