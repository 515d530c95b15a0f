import { stripVTControlCharacters } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import type { Random } from '@mcm/kube';
import { UserError } from './command/errors.ts';
import { CLOSED_PIPE, Ended } from './command/exit-codes.ts';
import { completions } from './completion/kubectl.ts';
import { ascii, isAscii } from './output/ascii.ts';
import { printProblem } from './output/format.ts';
import { createProgram } from './program.ts';

setFlagsFromString('--no-concurrent-sparkplug');

/**
 * If `head` closes the pipe early, the command ends without a message, like a program that receives SIGPIPE. The exit
 * code after a closed pipe is not 0, because for `plan` and `config diff`, 0 means "no changes".
 */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(CLOSED_PIPE);
});

const random: Random = { next: Math.random };
const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/**
 * Returns a signal that is aborted with `Ended` at the first SIGINT, SIGTERM or SIGHUP. A second signal ends the
 * process immediately.
 */
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

/** Formats an error for the user. */
async function describe(error: unknown): Promise<string> {
  if (error instanceof UserError) return error.message;
  const { ConfigError, KubeError } = await import('@mcm/kube');
  if (error instanceof KubeError || error instanceof ConfigError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Removes Unicode symbols or colors that the terminal does not support. */
const draw = (text: string): string => {
  const plain = process.env.NO_COLOR ? stripVTControlCharacters(text) : text;
  return isAscii(process.env) ? ascii(plain) : plain;
};

const program = createProgram({ say, random, signal: untilSignal, stdout: process.stdout, draw });

// The interval keeps the process running, because timers of `realClock` do not.
setInterval(() => undefined, 2 ** 30);

try {
  const [, , first, ...words] = process.argv;
  // The completion handles the arguments of `kubectl_complete-mcm` without commander, because it also needs incomplete
  // flags.
  if (first === '__complete') for (const line of await completions(program, words)) say(line);
  else await program.parseAsync();
} catch (error) {
  if (!(error instanceof Ended)) {
    printProblem(await describe(error));
  }
  process.exitCode = error instanceof Ended ? error.code : process.exitCode || 1;
}
// Open sockets and watches would keep the process running, so mcm calls `exit`. Before the exit, a slow pipe must
// receive the remaining output.
for (const stream of [process.stdout, process.stderr])
  await new Promise<void>((resolve) => stream.write('', () => resolve()));
process.exit(process.stdout.errored ? CLOSED_PIPE : (process.exitCode ?? 0));
