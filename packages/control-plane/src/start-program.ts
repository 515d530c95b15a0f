const OLDEST_NODE = [22, 19] as const;

/**
 * Returns the error for an old version of Node.js.
 * @param version the version, such as `20.20.2`
 */
function oldNode(name: string, version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return undefined;
  return `${name} requires Node.js ${oldestMajor}.${oldestMinor} or newer, but this is Node.js ${version}: install a newer Node.js`;
}

/**
 * Disables the Maglev compiler, which saves 8 to 10 MB of memory. Maglev can also block `process.exit` forever in
 * Node.js 24.21, because a Maglev thread waits for a garbage collection of the main thread.
 */
const NO_MAGLEV = '--no-maglev';

/**
 * The function checks the version of Node.js before it loads the rest of the program.
 *
 * This module, and each module that calls it, must not have a static import of a Node.js module. In an older Node.js,
 * an import of a missing name ends the process with a `SyntaxError` before any code runs.
 * @param load imports the rest of the program
 */
export function startProgram(name: string, load: () => Promise<unknown>): void {
  const problem = oldNode(name, process.versions.node);
  if (problem !== undefined) {
    process.stderr.write(`${problem}\n`);
    process.exitCode = 1;
    return;
  }
  process.getBuiltinModule('node:v8').setFlagsFromString(NO_MAGLEV);
  // With the compile cache, Node.js compiles each module only once, and not at every start.
  process.getBuiltinModule('node:module').enableCompileCache();
  load().catch((error: unknown) => {
    // The last line of the output must be the cause.
    const { message, stack } = error instanceof Error ? error : { message: String(error), stack: '' };
    process.stderr.write(`${stack}\n${name}: the program could not start: ${message}\n`);
    process.exit(1);
  });
}
