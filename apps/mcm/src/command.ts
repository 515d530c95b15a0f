import { stripVTControlCharacters } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import type { Random } from '@mcm/kube';
import { UserError } from './command/errors.ts';
import { Ended } from './command/exit-codes.ts';
import { kubectlCompletions } from './completion/kubectl.ts';
import { ascii, isAscii } from './output/ascii.ts';
import { printable } from './output/printable.ts';
import { createProgram } from './program.ts';

// As in `processHost` of @mcm/kube: a process that is done must not wait for its own compiler.
setFlagsFromString('--no-concurrent-sparkplug');

/** A reader that has seen enough, such as `head`, is no fault of anybody's. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

const random: Random = { next: Math.random };
const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** Aborts with `Ended` at the first SIGINT, SIGTERM or hang-up; a second one ends the process at once. */
function untilSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      const ended = new Ended(name);
      if (controller.signal.aborted) process.exit(ended.code);
      controller.abort(ended);
    });
  }
  return controller.signal;
}

/** What a user can repair, and what a server refused, is one sentence; anything else is a fault of ours and comes with its stack. */
async function describe(error: unknown): Promise<string> {
  if (error instanceof UserError) return error.message;
  const { ConfigError, KubeError } = await import('@mcm/kube');
  if (error instanceof KubeError || error instanceof ConfigError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** A terminal may know neither the signs that texts are drawn with nor colors: see https://no-color.org. */
const draw = (text: string): string => {
  const plain = process.env.NO_COLOR ? stripVTControlCharacters(text) : text;
  return isAscii(process.env) ? ascii(plain) : plain;
};

const program = createProgram({ say, random, signal: untilSignal, stdout: process.stdout, draw });

// The clock's timers keep no process alive; a command that waits for one does.
setInterval(() => undefined, 2 ** 30);

try {
  const [, , first, ...words] = process.argv;
  // Asked by kubectl_complete-mcm. It is no command: whatever is begun, flags too, is a word here.
  if (first === '__complete') for (const line of kubectlCompletions(program, words)) say(line);
  else await program.parseAsync();
} catch (error) {
  if (!(error instanceof Ended)) {
    const lines = (await describe(error)).split('\n').map(printable);
    process.stderr.write(`mcm: ${lines.join('\n')}\n`);
  }
  process.exitCode = error instanceof Ended ? error.code : 1;
}
// Keep-alive sockets and watches must not hold the process once its work is done; what a slow reader of a pipe has yet to take does.
for (const stream of [process.stdout, process.stderr])
  await new Promise<void>((resolve) => stream.write('', () => resolve()));
process.exit(process.exitCode ?? 0);
