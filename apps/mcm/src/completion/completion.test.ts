import { execFileSync } from 'node:child_process';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { completionScript } from './completion.ts';

function program(): Command {
  const mcm = new Command('mcm').option('--verbose', 'v');
  const rollout = mcm.command('rollout').description('r');
  rollout.command('status').description('s').argument('<name>').option('--no-watch', 'w');
  rollout.command('start').description('s');
  mcm.command('tree').description('t').option('-o, --output <format>', 'o');
  return mcm;
}

/** What bash offers after these words, the last of which is being typed. */
const offered = (...words: string[]): string[] =>
  execFileSync(
    'bash',
    [
      '-c',
      `${completionScript(program(), 'bash')}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mcm; printf '%s\\n' "\${COMPREPLY[@]}"`,
      'bash',
      'mcm',
      ...words,
    ],
    { encoding: 'utf8' },
  )
    .trim()
    .split('\n')
    .filter((word) => word !== '');

test.each([
  [[''], ['rollout', 'tree', '--verbose', '--help']],
  [['ro'], ['rollout']],
  [
    ['rollout', 'sta'],
    ['status', 'start'],
  ],
  [['rollout', 'status', 'web', '--no'], ['--no-watch']],
  [['tree', '--o'], ['--output']],
  [['tree', 'x'], []],
])('bash, after %j', (words, expected) => {
  expect(offered(...words)).toEqual(expected);
});

test('zsh and fish', () => {
  expect(completionScript(program(), 'zsh')).toMatch(/^#compdef mcm\n/);
  expect(completionScript(program(), 'fish')).toContain(
    "complete -c mcm -n '__fish_seen_subcommand_from rollout' -f -a status",
  );
});
