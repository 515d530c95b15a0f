/** The oldest supported version of Node.js, as in `engines` of the packages. */
const OLDEST_NODE = [22, 19] as const;

/**
 * Returns an error text for an unsupported version of Node.js, or undefined for a supported version.
 * @param version A version such as `20.20.2`
 */
export function oldNode(name: string, version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return undefined;
  return `${name} requires Node.js ${oldestMajor}.${oldestMinor} or newer, but this is Node.js ${version}: install a newer Node.js`;
}

/**
 * Without the Maglev compiler, a program uses 8 to 10 MB less memory. In Node.js 24.21, `process.exit` and a thread of
 * Maglev can also wait for each other forever.
 */
const NO_MAGLEV = '--no-maglev';

/**
 * Starts a program: verifies the version of Node.js, sets flags of V8, and loads the rest.
 *
 * This module and its callers have no static import of a Node.js module. In an older Node.js, a missing name of such an
 * import ends the process with a `SyntaxError` before any code runs.
 * @param load Imports the module with the rest of the program
 * @param v8Flags Flags that are set before anything else is loaded
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
  // With the compile cache, Node.js compiles modules once instead of at every start. For TypeScript sources, the cache
  // contains JavaScript.
  process.getBuiltinModule('node:module').enableCompileCache();
  load().catch((error: unknown) => {
    // The handler prints the reason as the last line. Without the handler, Node.js prints its version as the last line.
    const { message, stack } = error instanceof Error ? error : { message: String(error), stack: '' };
    process.stderr.write(`${stack}\n${name}: the program could not start: ${message}\n`);
    process.exit(1);
  });
}
