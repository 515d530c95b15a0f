import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { seededRandom } from '@mcm/kube';
import { type Command, CommanderError } from 'commander';
import { describe, expect, test } from 'vitest';
import { examplesOf, leavesOf } from '../command/help.ts';
import { createProgram } from '../program.ts';
import { commandsOf, type DocumentedCommand, documentedCommands } from './commands.ts';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const pages = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .trim()
  .split('\n')
  .filter((path) => !path.includes('/testdata/') && existsSync(join(ROOT, path)));
const documented = pages.flatMap((path) => documentedCommands(path, read(path)));

/** Creates the real program with actions that do nothing, because only parsing is tested. */
function parser(): Command {
  const program = createProgram({
    say: () => undefined,
    random: seededRandom(1),
    signal: () => new AbortController().signal,
    stdout: process.stdout,
  });
  const silence = (command: Command): void => {
    command.exitOverride().configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
    if (command.commands.length === 0) command.action(() => undefined);
    command.commands.forEach(silence);
  };
  silence(program);
  return program;
}

async function objection(words: readonly string[]): Promise<string | undefined> {
  try {
    await parser().parseAsync([...words], { from: 'user' });
    return undefined;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? undefined : error.message;
  }
}

/** Returns the arguments of `mcm` in a command, or undefined for other programs. */
function wordsOfMcm([first, second, ...rest]: readonly string[]): readonly string[] | undefined {
  if (first === 'mcm') return second === undefined ? [] : [second, ...rest];
  return first === 'kubectl' && second === 'mcm' ? rest : undefined;
}

const started = (words: readonly string[]): readonly string[] => {
  const text = words.join(' ');
  const launcher = /^(npx -y pnpm@12|npx|pnpm) /.exec(text)?.[0] ?? '';
  return words.slice(launcher.split(' ').length - 1);
};

const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: Readonly<Record<string, string>> };
const flagsPage = read('docs/reference/flags.md');

const NOT_RUN: Readonly<Record<string, string>> = {
  kubectl: 'it is not ours; it is run on a living fleet by e2e/src/docs/commands, and more of it by e2e/src/kubectl',
  helm: 'it is not ours; the chart is rendered in e2e/src/deploy',
  npm: 'it asks the registry; a package that is begun by `mcm provider new` is installed and tested in tools/src/packages',
  'mcm-conformance': 'it needs a cloud; its command line is tested in packages/conformance',
  'cloud-emulator': 'it serves until it is ended; it is started by every run of `mcm up --provider`',
  aws: 'it needs an account of AWS',
  eksctl: 'it needs an account of AWS',
  az: 'it needs an account of Azure',
  gcloud: 'it needs an account of Google Cloud',
  cosign: 'it needs a registry',
  skopeo: 'it needs a registry',
  docker: 'it needs a container engine and a registry',
  git: 'it changes the version of the clone',
  openssl: 'it needs the files of a release; tools/src/release/release.test.ts runs it',
  sha256sum: 'it needs the files of a release; tools/src/release/release.test.ts runs it',
  curl: 'it asks a process that has to run; its paths are tested in packages/kube/src/run',
  grep: 'it reads what another command prints',
  cut: 'it shortens what another command prints',
  xargs: 'it starts the command of its arguments, which this test checks on other lines',
  jq: 'it changes what another command prints, and not every machine has it',
  '@mcm/control-plane': 'it serves until it is ended; e2e/src/clients/page.test.ts runs it',
  go: 'it needs the tests of a reader',
  basename: 'it shortens what another command prints',
  base64: 'it decodes what another command prints',
  printf: 'it writes a file for the next command',
  rm: 'it removes files of earlier commands',
  diff: 'it compares files of earlier commands',
  mkdir: 'it creates a folder for later commands',
  cp: 'it copies files of an installed package',
  fault: 'a function of docs/local.md; e2e/src/docs/commands runs it',
  'fault()': 'the begin of that function',
  '}': 'the end of that function',
  '[': 'the shell’s own',
  read: 'the shell’s own',
  umask: 'the shell’s own',
  export: 'the shell’s own',
  source: 'the shell’s own',
  cd: 'the shell’s own',
};

async function fault(command: DocumentedCommand): Promise<string | undefined> {
  const wrong = await faultOf(command.words);
  return command.named && /missing required argument|\(outputHelp\)/.test(wrong ?? '') ? undefined : wrong;
}

async function faultOf(words: readonly string[]): Promise<string | undefined> {
  const own = words[0] === 'npx' || words[0] === 'pnpm' ? started(words) : words;
  const asked = wordsOfMcm(own);
  if (asked) return objection(asked);
  const [program = '', ...rest] = own;
  if (own !== words && NOT_RUN[program] === undefined) {
    // In a pnpm command for several packages, a flag comes before the program.
    if (program.startsWith('-')) return undefined;
    if (scripts[program] === undefined) return `package.json has no script ${program}`;
    return rest
      .filter((word) => word.startsWith('--'))
      .map((word) => unknownFlag(program, word))
      .find(Boolean);
  }
  if (program === 'node')
    return rest
      .filter((word) => word.endsWith('.ts'))
      .map(missing)
      .find(Boolean);
  if (NOT_RUN[program] === undefined)
    return `"${program}" is neither a program of ours nor one with a reason why it is not run`;
  // In a kubectl command, `deploy/NAME` is an object and not a file.
  const files = program === 'kubectl' ? rest.filter((_, index) => /^-[fk]$/.test(rest[index - 1] ?? '')) : rest;
  return files
    .filter((word) => /^(examples|deploy|docs)\//.test(word))
    .map(missing)
    .find(Boolean);
}

const missing = (path: string): string | undefined =>
  existsSync(join(ROOT, path)) ? undefined : `there is no ${path}`;

function unknownFlag(program: string, word: string): string | undefined {
  if (!/^machine-(controller|config)/.test(program) || word === '--help') return undefined;
  const [flag = ''] = word.split('=');
  return flagsPage.includes(`\`${flag}\``) || program === 'machine-config-daemon'
    ? undefined
    : `${program} has no flag ${flag}`;
}

describe('help', () => {
  const leaves = leavesOf(parser());

  test.each(leaves.map(({ path }) => path))('the help of %s has examples that the program accepts', async (path) => {
    const examples = examplesOf(path).flatMap((line) => commandsOf(line).map((words) => wordsOfMcm(words) ?? []));
    expect(examples.length).toBeGreaterThan(0);
    for (const words of examples.filter((each) => each.length > 0)) expect(await objection(words)).toBeUndefined();
  });

  test('every command with output can print JSON', () => {
    const without = leaves.filter(({ command }) => !command.options.some(({ long }) => long === '--output'));
    expect(without.map(({ path }) => path)).toEqual(['up', 'completion', 'dashboard', 'provider new']);
  });
});

describe('commands in the documentation', () => {
  test('commands in the documentation are found', () => {
    expect(documented.length).toBeGreaterThan(100);
    expect(documented.filter(({ words }) => wordsOfMcm(started(words)) ?? wordsOfMcm(words)).length).toBeGreaterThan(
      40,
    );
  });

  test('commands in the documentation are accepted by the programs', async () => {
    const faults: string[] = [];
    for (const command of documented) {
      const wrong = await fault(command);
      if (wrong !== undefined) faults.push(`${command.at}: ${command.words.join(' ')}: ${wrong}`);
    }
    expect(faults).toEqual([]);
  });

  test('each exception is a program that a page names', () => {
    const named = new Set(documented.flatMap(({ words }) => [words[0] ?? '', started(words)[0] ?? '']));
    expect(Object.keys(NOT_RUN).filter((program) => !named.has(program))).toEqual([]);
  });

  test.each([
    ['mcm tre', /unknown command 'tre'/],
    ['mcm tree --wide', /unknown option '--wide'/],
    ['mcm plan --filname x', /unknown option '--filname'/],
    ['mcm drain --preveiw x', /unknown option '--preveiw'/],
    ['mcm tree -o table', /argument 'table' is invalid/],
    ['mcm drain', /missing required argument/],
    ['npx -y pnpm@12 nothing', /no script nothing/],
    ['npx -y pnpm@12 machine-controller-aws --cloud x', /has no flag --cloud/],
    ['kubectl apply -f examples/none.yaml', /there is no examples\/none.yaml/],
    ['kubectl mcm tre', /unknown command 'tre'/],
    ['terraform apply', /neither a program of ours/],
  ])('a wrong command is found: %s', async (line, wrong) => {
    expect(await fault({ at: 'here', words: commandsOf(line)[0] ?? [] })).toMatch(wrong);
  });
});

test.each([
  ['a --b "c d" # e', [['a', '--b', 'c d']]],
  ["X=1 $ a 'b # c' | d > f && e 2>&1", [['a', 'b # c'], ['d'], ['e']]],
  [
    'source <(mcm completion bash)',
    [
      ['source', '<(mcm completion bash)'],
      ['mcm', 'completion', 'bash'],
    ],
  ],
])('a line is parsed as in a shell: %s', (line, commands) => {
  expect(commandsOf(line)).toEqual(commands);
});
