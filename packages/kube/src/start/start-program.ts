/** The oldest supported version of Node.js, as in `engines` of the packages. */
const OLDEST_NODE = [22, 19] as const;

/** Returns an error text if the version of Node.js is not supported, or undefined. */
export function oldNode(name: string, version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return undefined;
  return `${name} requires Node.js ${oldestMajor}.${oldestMinor} or newer, but this is Node.js ${version}: install a newer Node.js`;
}

/**
 * Without the Maglev compiler, a program uses 8 to 10 MB less memory. In Node.js 24.21, `process.exit` and the thread
 * of the compiler Maglev may wait for each other forever.
 */
const NO_MAGLEV = '--no-maglev';

/**
 * Starts a program: verifies the Node.js version, sets V8 flags, and imports the rest of the program.
 *
 * An old Node.js that lacks an imported name would end with a `SyntaxError` before any code runs.
 */
export function startProgram(name: string, load: () => Promise<unknown>, v8Flags: readonly string[] = []): void {
  const problem = oldNode(name, process.versions.node);
  if (problem !== undefined) {
    process.stderr.write(`${problem}\n`);
    process.exitCode = 1;
    return;
  }
  const { setFlagsFromString } = process.getBuiltinModule('node:v8');
  for (const flag of [NO_MAGLEV, ...v8Flags]) setFlagsFromString(flag);
  // The compile cache stores compiled modules, which speeds up the next start. For TypeScript sources, the cache
  // contains the generated JavaScript.
  process.getBuiltinModule('node:module').enableCompileCache();
  load().catch((error: unknown) => {
    // Without this handler, Node.js would print its version after the error.
    const { message, stack } = error instanceof Error ? error : { message: String(error), stack: '' };
    process.stderr.write(`${stack}\n${name}: the program could not start: ${message}\n`);
    process.exit(1);
  });
}
