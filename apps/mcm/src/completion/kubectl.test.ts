import { Command, Option } from 'commander';
import { expect, test } from 'vitest';
import { kubectlCompletions } from './kubectl.ts';

const program = new Command('mcm');
const rollout = program.command('rollout');
rollout.command('status').argument('<name>').option('--no-watch').option('-f, --filename <path>');
rollout.command('restart').addOption(new Option('-o, --output <format>').choices(['json', 'yaml']));
program.command('replay').argument('<bundle...>').option('--context <name>').option('--provider <name>');
program.command('completion').addArgument(program.createArgument('<shell>').choices(['bash', 'zsh']));

test.each([
  [[''], ['rollout', 'replay', 'completion', ':4']],
  [['ro'], ['rollout', ':4']],
  [
    ['rollout', 'restart', '--output=y'],
    ['yaml', ':4'],
  ],
  [['replay', ''], [':0']],
  [
    ['replay', '--c'],
    ['--context', ':4'],
  ],
  // A driver can be a file, so file names are completed; a context cannot be a file.
  [['replay', '--context', ''], [':4']],
  [['replay', '--provider', './'], [':0']],
  [
    ['rollout', ''],
    ['status', 'restart', ':4'],
  ],
  [
    ['rollout', 'status', 'web', '--n'],
    ['--no-watch', ':4'],
  ],
  [
    ['rollout', 'restart', 'web', '-o', ''],
    ['json', 'yaml', ':4'],
  ],
  [
    ['rollout', 'restart', '--output', 'y'],
    ['yaml', ':4'],
  ],
  [
    ['completion', 'b'],
    ['bash', ':4'],
  ],
  [['rollout', 'status', '-f', ''], [':0']],
  [['rollout', 'status', 'web', ''], [':4']],
  [['nonsense', 'x'], [':4']],
])('kubectl mcm %j', (words, lines) => {
  expect(kubectlCompletions(program, words)).toEqual(lines);
});
