/** A reader that closes its pipe, such as `head`, is not an error of the driver. The run continues for its report. */
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

// Timers of the clock do not keep the process alive while a driver waits. A timer of Node.js keeps the process alive.
const alive = setInterval(() => undefined, 60_000);
process.exitCode = await played();
clearInterval(alive);
// The process exits when its output is written, even if a driver has open connections or timers.
for (const stream of [process.stdout, process.stderr])
  await new Promise<void>((resolve) => stream.write('', () => resolve()));
process.exit();
