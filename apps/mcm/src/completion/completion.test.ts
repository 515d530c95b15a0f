import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { completionScript, SHELLS, type Shell } from './completion.ts';

let dir: string;
beforeAll(() => {
  // fish has no hook for file names. Therefore, the directory contains a file with the name `FILES`, which the hooks of
  // the other shells print.
  dir = mkdtempSync(join(tmpdir(), 'mcm-completion-'));
  writeFileSync(join(dir, 'FILES'), '');
});
afterAll(() => rmSync(dir, { recursive: true }));

function program(): Command {
  const mcm = new Command('mcm').option('--verbose', 'v');
  const rollout = mcm.command('rollout').description('r');
  rollout.command('status').description('s').argument('<name>').option('--no-watch', 'w');
  rollout.command('start').description('s');
  const format = new Option('-o, --output <format>', 'o').choices(['text', 'json', 'yaml']);
  mcm
    .command('tree')
    .description('t')
    .addOption(format)
    .option('--kubeconfig <file>', 'k')
    .option('--context <name>', 'c');
  mcm.command('status').description('another one of that name').option('--data-dir <dir>', 'd');
  mcm.command('up').description('u').option('--provider <name>', 'p');
  mcm.command('replay').description('r').argument('<bundle...>');
  mcm
    .command('completion')
    .description('c')
    .addArgument(mcm.createArgument('<shell>').choices(['bash', 'zsh']));
  return mcm;
}

/** Scripts for each shell that print the completions of a command line. */
const PROBES: Readonly<Record<Shell, string>> = {
  bash: `compopt() { echo FILES; }; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mcm; printf '%s\\n' "\${COMPREPLY[@]}"`,
  // zsh completes only in a terminal, so the script replaces the two builtins that the completion calls.
  zsh: `words=("$@"); CURRENT=$#; compdef() { :; }; _files() { echo FILES; }; compset() { words[CURRENT]="\${words[CURRENT]#*=}"; }
compadd() { shift; local one found=1; for one in "$@"; do [[ $one == \${words[CURRENT]}* ]] && print -- $one && found=0; done; return $found; }
SCRIPT
_mcm || true`,
  fish: 'SCRIPT\ncomplete -C (string join " " -- $argv) | string replace -r "\\t.*" ""; true',
};

function offered(shell: Shell, words: readonly string[]): string[] {
  const script = completionScript(program(), shell);
  const probe = PROBES[shell];
  const text = probe.includes('SCRIPT') ? probe.replace('SCRIPT', () => script) : `${script}\n${probe}`;
  // Bash splits the words of a command line at "=".
  const typed = shell === 'bash' ? words.flatMap((word) => word.match(/=|[^=]+/g) ?? ['']) : words;
  const given = shell === 'fish' ? ['mcm', ...words] : [shell, 'mcm', ...typed];
  // The shells start without the settings of the user.
  const flags = { bash: ['--norc'], zsh: ['-f'], fish: ['--no-config'] }[shell];
  const out = execFileSync(shell, [...flags, '-c', text, ...given], { encoding: 'utf8', cwd: dir });
  // fish prints the flag before each completed value.
  return out.split('\n').flatMap((word) => word.replace(/^--.+=/, '') || []);
}

const isThere = (shell: Shell): boolean => spawnSync(shell, ['-c', 'exit 0']).status === 0;

const CASES: readonly [words: readonly string[], expected: readonly string[]][] = [
  [['ro'], ['rollout']],
  [
    ['rollout', ''],
    ['status', 'start'],
  ],
  [
    ['tree', '--'],
    ['--output', '--kubeconfig', '--context', '--help'],
  ],
  [
    ['rollout', 'sta'],
    ['status', 'start'],
  ],
  [['rollout', 'status', 'web', '--no'], ['--no-watch']],
  // The commands `status` and `rollout status` have different flags.
  [['rollout', 'status', '--da'], []],
  [['status', '--da'], ['--data-dir']],
  [['tree', '--ou'], ['--output']],
  [['tree', '-o', 'js'], ['json']],
  [
    ['tree', '--output', ''],
    ['text', 'json', 'yaml'],
  ],
  [['tree', '--kubeconfig', 'rollout', '--ou'], ['--output']],
  [['completion', 'z'], ['zsh']],
  [['tree', '--output=js'], ['json']],
  [
    ['tree', '--output='],
    ['text', 'json', 'yaml'],
  ],
  [['tree', '--kubeconfig=a', '--ou'], ['--output']],
  [['tree', '--kubeconfig', ''], ['FILES']],
  [['tree', '--context', ''], []],
  [['replay', ''], ['FILES']],
  [['status', ''], []],
];

for (const shell of SHELLS)
  test.skipIf(!isThere(shell)).each(CASES)(`${shell}, after %j`, (words, expected) => {
    expect(offered(shell, words).sort()).toEqual([...expected].sort());
  });

// On a terminal, fish offers file names if no other name matches.
for (const shell of ['bash', 'zsh'] as const)
  test.skipIf(!isThere(shell))(`${shell} offers files for the driver of a provider`, () => {
    expect(offered(shell, ['up', '--provider', './F'])).toEqual(['FILES']);
  });

test.each(SHELLS)('%s: every quote and every block that is opened is closed', (shell) => {
  const script = completionScript(program(), shell);
  const count = (pattern: RegExp): number => [...script.matchAll(pattern)].length;
  for (const quote of [/"/g, /'/g]) expect(count(quote) % 2).toBe(0);
  if (shell === 'fish') expect(count(/^\s*(function|for) /gm)).toBe(count(/^\s*end$/gm));
  else
    expect([count(/\bcase /g), count(/\bdo$/gm), count(/\{$/gm)]).toEqual([
      count(/\besac\b/g),
      count(/\bdone$/gm),
      count(/^\}$/gm),
    ]);
});
