/** A reader that has seen enough, such as `head`, is no fault of the driver; what is played continues, for its report. */
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

// Timers of the clock hold no process up; while a driver only waits, this does.
const alive = setInterval(() => undefined, 60_000);
process.exitCode = await played();
clearInterval(alive);
// Connections and timers that a driver left open must not hold the process; what a slow reader of a pipe has yet to take does.
for (const stream of [process.stdout, process.stderr])
  await new Promise<void>((resolve) => stream.write('', () => resolve()));
process.exit();
