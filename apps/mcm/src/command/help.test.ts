import type { Command } from 'commander';
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
  [['config', 'diff', '--nowhere'], 2],
  [['tree', '--nowhere'], 1],
  [['plan', '--help'], 0],
])(
  'a usage error of %j has the exit code %i, because 1 means changes for a plan and a diff',
  async (words, expected) => {
    const exit = vi.spyOn(process, 'exit').mockImplementation((code) => {
      throw new Error(`exit ${code}`);
    });
    onTestFinished(() => exit.mockRestore());
    const program = programOf();
    const silent = { writeOut: () => undefined, writeErr: () => undefined };
    for (const { command } of leavesOf(program)) command.configureOutput(silent);
    await expect(program.parseAsync(words, { from: 'user' })).rejects.toThrow(`exit ${expected}`);
  },
);

test.each([40, 60, 80])('no line of a help is longer than a terminal of %i columns', (columns) => {
  const all = (command: Command): readonly Command[] => [command, ...command.commands.flatMap(all)];
  const long = all(programOf()).flatMap((command) => {
    const lines = command
      .configureOutput({ getOutHelpWidth: () => columns })
      .helpInformation()
      .split('\n');
    return lines.filter((line) => line.length > columns && line.trim().includes(' '));
  });
  expect(long).toEqual([]);
});

test.each([
  [40, '  -R, --recursive\n      also read subdirectories\n'],
  [120, '  -R, --recursive             also read subdirectories\n'],
])('on a terminal of %i columns, the description of a flag is below it or next to it', (columns, expected) => {
  const plan = leavesOf(programOf()).find(({ path }) => path === 'plan')?.command;
  expect(plan?.configureOutput({ getOutHelpWidth: () => columns }).helpInformation()).toContain(expected);
});
