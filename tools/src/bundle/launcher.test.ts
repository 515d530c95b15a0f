import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ROOT } from '../root.ts';

/** A folder like a clone, whose Node.js is a script that prints its arguments. */
let dir: string;
let clone: string;

async function script(path: string, text: string): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, `#!/bin/sh\n${text}\n`);
  await chmod(path, 0o755);
}

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'mcm launcher '));
  clone = join(dir, 'a clone');
  await mkdir(join(clone, 'apps/mcm/node_modules'), { recursive: true });
  for (const folder of ['packages', 'providers']) await mkdir(join(clone, folder));
  await writeFile(join(clone, 'pnpm-lock.yaml'), '');
  await copyFile(join(ROOT, 'mcm'), join(clone, 'mcm'));
  await script(join(clone, 'node_modules/node/bin/node'), 'printf "%s\\n" "$@"');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** Runs the launcher of a clone from a different working folder. */
const launch = (args: readonly string[], file = join(clone, 'mcm'), path = process.env.PATH ?? '') =>
  new Promise<{ code: unknown; lines: string[]; log: string }>((done) =>
    execFile(file, args, { cwd: dir, env: { PATH: path } }, (error, stdout, stderr) =>
      done({ code: error?.code ?? 0, lines: stdout.trimEnd().split('\n'), log: stderr }),
    ),
  );

const SOURCES = (): string[] => ['--conditions=source', join(clone, 'apps/mcm/src/main.ts')];
const bundleOf = (commit: string): string => `node_modules/.cache/mcm/bundles/${commit}/mcm/dist/main.js`;

async function bundled(minutes: number, commit = 'none'): Promise<string> {
  const file = join(clone, bundleOf(commit));
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(file, '');
  const time = new Date(Date.now() + minutes * 60_000);
  await utimes(file, time, time);
  return file;
}

test('the launcher passes all arguments on, through a symbolic link too', async () => {
  await symlink(join(clone, 'mcm'), join(dir, 'first'));
  await symlink('first', join(dir, 'linked'));
  for (const file of [join(clone, 'mcm'), join(dir, 'linked')]) {
    expect((await launch(['tree', 'a b', '-o', 'json'], file)).lines).toEqual([
      ...SOURCES(),
      ...['tree', 'a b', '-o', 'json'],
    ]);
  }
});

test('the launcher runs a bundle that is newer than all sources', async () => {
  const file = await bundled(5);
  expect((await launch(['tree'])).lines).toEqual([file, 'tree']);
  expect((await launch(['up'])).lines).toEqual([...SOURCES(), 'up']);
});

test('the launcher ignores a bundle that is older than a source', async () => {
  await bundled(-5);
  expect((await launch(['tree'])).lines).toEqual([...SOURCES(), 'tree']);
});

test('the launcher bundles again after an update of the clone', async () => {
  const [before, after] = ['a'.repeat(40), 'b'.repeat(40)];
  await mkdir(join(clone, '.git/logs'), { recursive: true });
  const line = (old: string, now: string): string => `${old} ${now} A User <a@b.example> 1 +0000\tpull\n`;
  await writeFile(join(clone, '.git/logs/HEAD'), line('0'.repeat(40), before));
  const file = await bundled(5, before);
  expect((await launch(['tree'])).lines).toEqual([file, 'tree']);
  await writeFile(join(clone, '.git/logs/HEAD'), line('0'.repeat(40), before) + line(before, after));
  // The bundler of this clone: it creates the file that the launcher then runs.
  await script(
    join(clone, 'node_modules/node/bin/node'),
    'case $3 in --into) mkdir -p "$4/mcm/dist" && : >"$4/mcm/dist/main.js" ;; *) printf "%s\\n" "$@" ;; esac',
  );
  const updated = await launch(['tree']);
  expect(updated.log).toBe('mcm: bundling for the first run; this takes some seconds\n');
  expect(updated.lines).toEqual([join(clone, bundleOf(after)), 'tree']);
  expect((await launch(['tree'])).log).toBe('');
});

test('without an installation the launcher names the command to run', async () => {
  await rm(join(clone, 'apps/mcm/node_modules'), { recursive: true });
  const { code, log } = await launch(['tree']);
  expect(code).toBe(1);
  expect(log).toBe(`mcm: the dependencies are not installed; run once: (cd '${clone}' && npx -y pnpm@12 install)\n`);
});

test.each([
  ['20.20.2', 'this is Node.js 20.20.2: install a newer Node.js'],
  ['22.18.3', 'this is Node.js 22.18.3: install a newer Node.js'],
  ['22.19.0', undefined],
  ['24.1.0', undefined],
])('the launcher verifies Node.js %s of the system', async (version, problem) => {
  await rm(join(clone, 'node_modules/node'), { recursive: true });
  await script(join(dir, 'bin/node'), `[ "$1" = --version ] && { echo v${version}; exit; }; printf "%s\\n" "$@"`);
  const { code, lines, log } = await launch(['tree'], undefined, `${join(dir, 'bin')}:${process.env.PATH}`);
  if (problem === undefined) expect(lines).toEqual([...SOURCES(), 'tree']);
  else expect([code, log]).toEqual([1, `mcm requires Node.js 22.19 or newer, but ${problem}\n`]);
});

test('the launcher of this repository prints the version', async () => {
  const { code, lines } = await launch(['version'], join(ROOT, 'mcm'));
  expect(code).toBe(0);
  expect(lines[0]).toMatch(/^\d+\.\d+\.\d+$/);
});

test('the launcher for Windows quotes the folder of the clone, because a closing parenthesis in its name ends a block', async () => {
  const text = await readFile(join(ROOT, 'mcm.cmd'), 'utf8');
  expect(text.split('%root%').length).toBeGreaterThan(3);
  expect(text.replaceAll(/"[^"\n]*"/g, '')).not.toContain('%root%');
});

/** Returns the lines of the launcher for Windows. */
async function windowsLines(): Promise<readonly string[]> {
  const text = await readFile(join(ROOT, 'mcm.cmd'), 'utf8');
  return text
    .trimEnd()
    .split(/\r?\n/)
    .map((line) => line.replaceAll(/"[^"]*"/g, 'QUOTED').trim());
}

test('the launcher for Windows finds its folder with %~dp0, prints no commands and keeps its variables to itself', async () => {
  const text = await readFile(join(ROOT, 'mcm.cmd'), 'utf8');
  expect(text.startsWith('@echo off\n')).toBe(true);
  // In every working folder, %~dp0 is the drive and the folder of the file, with a backslash at the end.
  expect(text.match(/%~dp0/g)).toHaveLength(1);
  expect(text).toContain('\nset "root=%~dp0"\n');
  expect(text).not.toMatch(/%root%\\|%cd%|\bcd\b|\bpushd\b/i);
  // Quotes around the whole assignment keep spaces and ampersands of the path.
  for (const [assignment] of text.matchAll(/^\s*(?:if .* )?set .*$/gm)) expect(assignment).toMatch(/set "\w+=[^"]*"$/);
  expect(text.indexOf('setlocal')).toBeLessThan(text.indexOf('set "'));
});

test('the launcher for Windows quotes every path, and passes the arguments unchanged', async () => {
  const lines = await windowsLines();
  for (const line of lines) expect(line).not.toMatch(/%(?:root|node|~dp0)%?/);
  // Only the last line has the arguments. Quotes around %* would join all arguments.
  expect(lines.filter((line) => line.includes('%*'))).toEqual([lines.at(-1)]);
  expect(lines.at(-1)).toBe('QUOTED --conditions=source QUOTED %*');
});

test('the launcher for Windows returns the exit code of mcm, and exit code 1 for each problem', async () => {
  const lines = await windowsLines();
  expect(lines.at(-1)).not.toMatch(/[&|()]/);
  // Without /b, exit would close the window of the user.
  const exits = lines.flatMap((line) => line.match(/\bexit\b.*?(?=[&|)]|$)/g) ?? []);
  expect(exits.map((exit) => exit.trim())).toEqual(['exit /b 1', 'exit /b 1', 'exit /b 1']);
  // Messages go to standard error. A message must not contain parentheses, because a closing parenthesis would end a
  // block.
  const echoes = lines.flatMap((line) => line.match(/(?<!@)\becho\b.*?(?=&|$)/g) ?? []);
  expect(echoes).toHaveLength(2);
  for (const echo of echoes) expect(echo).not.toMatch(/[()]/);
  for (const line of lines.filter((each) => /(?<!@)\becho\b/.test(each))) {
    expect(line).toMatch(/ 1>&2$/);
    expect(lines[lines.indexOf(line) + 1]).toBe('exit /b 1');
  }
  // Each command that verifies Node.js is followed by a test of its exit code. Some shells read || in a different way.
  expect(lines.filter((line) => line.includes('||'))).toEqual([]);
  const verifying = lines.filter((line) => /^node /.test(line));
  expect(verifying).toHaveLength(2);
  for (const line of verifying) expect(lines[lines.indexOf(line) + 1]).toMatch(/^if errorlevel 1 (\(|exit \/b 1)$/);
});

test('the blocks of the launcher for Windows are balanced, and the file has no labels', async () => {
  let depth = 0;
  for (const line of await windowsLines()) {
    // cmd.exe may miss a label in a file with the line ends of Unix.
    expect(line).not.toMatch(/^:|\bgoto\b|\bcall\b/i);
    if (/^rem\b/.test(line)) continue;
    for (const [bracket] of line.matchAll(/[()]/g)) depth += bracket === '(' ? 1 : -1;
    expect(depth).toBeGreaterThanOrEqual(0);
  }
  expect(depth).toBe(0);
});

test.each([
  'apps/mcm/node_modules',
  'mcm: the dependencies are not installed; run once',
  'npx -y pnpm@12 install',
  'node_modules/node/bin/node',
  'mcm requires Node.js 22.19 or newer, and there is no node in PATH: install Node.js',
  'mcm requires Node.js 22.19 or newer, but this is Node.js ',
  ': install a newer Node.js',
  'NODE_COMPILE_CACHE',
  'node_modules/.cache/mcm',
  '--conditions=source',
  'apps/mcm/src/main.ts',
])('both launchers contain: %s', async (fact) => {
  for (const file of ['mcm', 'mcm.cmd']) {
    const text = await readFile(join(ROOT, file), 'utf8');
    expect(text.replaceAll('\\$PATH', 'PATH').replaceAll('\\', '/'), file).toContain(fact);
  }
});

test('the launcher for Windows passes exclamation marks of arguments', async () => {
  const lines = (await readFile(join(ROOT, 'mcm.cmd'), 'utf8')).split('\n');
  expect(lines.indexOf('setlocal DisableDelayedExpansion')).toBeGreaterThan(0);
  expect(lines.findIndex((line) => line.includes('set "'))).toBeGreaterThan(
    lines.indexOf('setlocal DisableDelayedExpansion'),
  );
});

test('the launcher for Windows runs files that exist, and looks for Node.js before it runs it', async () => {
  const text = await readFile(join(ROOT, 'mcm.cmd'), 'utf8');
  const files = [...text.matchAll(/%root%([^"]*)/g)].map(([, path = '']) => path.replaceAll('\\', '/'));
  const own = files.filter((path) => path.startsWith('apps/') && path.endsWith('.ts'));
  expect(own).toEqual(['apps/mcm/src/main.ts']);
  await Promise.all(own.map((path) => readFile(join(ROOT, path))));
  // Wine has a command "where" that always succeeds, so only a run of Node.js shows that Node.js exists.
  expect(text).not.toMatch(/\bwhere\b/);
  expect(text.indexOf('node --version >nul 2>nul')).toBeGreaterThan(0);
  expect(text.indexOf('node --version')).toBeLessThan(text.indexOf('node -e'));
});

test.each([
  ['9.11.2', false],
  ['20.20.2', false],
  ['22.18.3', false],
  ['22.19.0', true],
  ['24.1.0', true],
  ['100.0.0', true],
])('the launcher for Windows verifies Node.js %s of the system: %s', async (version, isNew) => {
  const text = await readFile(join(ROOT, 'mcm.cmd'), 'utf8');
  const script = /node -e "([^"]*)"\n {2}if errorlevel 1 exit \/b 1\n/.exec(text)?.[1] ?? '';
  const exits: number[] = [];
  const said: string[] = [];
  const process = { versions: { node: version }, exit: (code: number) => exits.push(code) };
  runInNewContext(script, { process, console: { error: (line: string) => said.push(line) } });
  expect(exits).toEqual([isNew ? 0 : 1]);
  const problem = `mcm requires Node.js 22.19 or newer, but this is Node.js ${version}: install a newer Node.js`;
  expect(said).toEqual(isNew ? [] : [problem]);
});
