import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { BINARIES, sharedBundle } from '@mcm/tools/bundles';
import { ROOT } from '../sources.ts';
import { type Block, commandLines } from './blocks.ts';

function workspaceScripts(): readonly (readonly [name: string, source: string])[] {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  return Object.entries(scripts).flatMap(([name, script]) => {
    const [, source] = /^node --conditions=source (\S+\.ts)$/.exec(script) ?? [];
    return source === undefined ? [] : [[name, join(ROOT, source)] as const];
  });
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Resolves with the bundle of each program that a `pnpm` script starts, by the name of the program. */
export async function bundledPrograms(): Promise<Readonly<Record<string, string>>> {
  const scripts = workspaceScripts().map(([name]) => name);
  const shipped = BINARIES.filter(({ name }) => scripts.includes(name));
  return Object.fromEntries(
    await Promise.all(shipped.map(async ({ name }) => [name, await sharedBundle(name)] as const)),
  );
}

/**
 * Installs the commands of a user into a folder: `mcm`, `kubectl-mcm`, and the scripts of `pnpm` and `npx -y pnpm@12`.
 */
export function installPrograms(dir: string, bundles: Readonly<Record<string, string>>): string {
  const bin = join(dir, 'bin');
  mkdirSync(bin);
  const write = (name: string, text: string): void => {
    writeFileSync(join(bin, name), `#!/bin/bash\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  const node = `exec ${quoted(process.execPath)} --conditions=source`;
  const cases = workspaceScripts().map(
    ([name, source]) => `${name}) ${node} ${quoted(bundles[name] ?? source)} "$@" ;;`,
  );
  write('pnpm', `script=$1; shift; case $script in\n${cases.join('\n')}\n*) exit 127 ;;\nesac`);
  write('npx', `[ "$1 $2" = "-y pnpm@12" ] || exit 127\nshift 2; exec pnpm "$@"`);
  write('kubectl-mcm', 'exec pnpm mcm "$@"');
  // `mcm plan` exits with 1 if a plan has steps, so the wrapper treats 1 as a success.
  const mcmCases = ['plan) pnpm mcm "$@" || [ $? = 1 ] ;;', 'install) exec pnpm mcm "$@" --no-wait ;;'];
  write('mcm', `case $1 in\n${mcmCases.join('\n')}\n*) exec pnpm mcm "$@" ;;\nesac`);
  return bin;
}

const UNTIL = `
until_said() {
  local pattern=$1 line pid; shift
  exec 3< <(exec bash -c "$1" 2>&1); pid=$!
  while read -r line <&3; do echo "$line"; [[ $line =~ $pattern ]] && break; done
  [[ $line =~ $pattern ]] || { echo "it ended and never said $pattern"; return 1; }
  kill -TERM $pid 2>/dev/null || true; cat <&3; wait $pid
}`;

export const pageScript = (blocks: readonly Block[]): string =>
  [
    'set -eu -o pipefail',
    UNTIL,
    ...blocks.flatMap(({ at, run }) => {
      if (run.by !== 'us') return [];
      const { after, script, until } = run;
      const lines = commandLines(script);
      const body =
        until === undefined ? [script] : lines.map((line) => `until_said ${quoted(until)} "${escaped(line)}"`);
      return [`echo ${quoted(`== ${at}`)} >&2`, ...after, ...body];
    }),
  ].join('\n');

/** Returns one script for each command of a page, with the lines that the command needs. */
export const linesOf = (blocks: readonly Block[]): readonly string[] =>
  blocks.flatMap(({ run }) =>
    run.by === 'us'
      ? commandLines(run.script).map((line) => ['set -eu -o pipefail', ...run.after, line].join('\n'))
      : [],
  );

const escaped = (line: string): string => line.replaceAll(/["\\`]/g, '\\$&');

export function runScript(
  script: string,
  { cwd, bin, env }: { readonly cwd: string; readonly bin: string; readonly env: Readonly<Record<string, string>> },
): Promise<string> {
  return new Promise((resolve, reject) => {
    const path = `${bin}${delimiter}${process.env.PATH}`;
    const child = spawn('bash', ['-c', script], {
      cwd,
      env: { ...process.env, ...env, PATH: path },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    child.once('close', (code) =>
      code === 0 ? resolve(output) : reject(new Error(`the commands ended with ${code}:\n${output}`)),
    );
  });
}
