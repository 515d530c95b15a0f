/**
 * If a reader such as `head` closes its pipe, the run continues, because the closed pipe is not an error of the driver.
 */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

const write = (text: string): void => void process.stdout.write(text);

async function played(): Promise<number> {
  const { parseFlags } = await import('./flags.ts');
  const flags = parseFlags(process.argv.slice(2), write);
  if (typeof flags === 'number') return flags;
  const { playFromFiles } = await import('./from-files.ts');
  return playFromFiles(flags, write);
}

// A timer of Node.js keeps the process alive while a driver waits.
const alive = setInterval(() => undefined, 60_000);
process.exitCode = await played();
clearInterval(alive);
// The process waits until its output is written, and then exits. Open connections or timers of a driver do not delay
// the exit.
for (const stream of [process.stdout, process.stderr])
  await new Promise<void>((resolve) => stream.write('', () => resolve()));
process.exit();
