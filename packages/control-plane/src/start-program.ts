/** The oldest supported Node.js, as `engines` of the packages states it. */
const OLDEST_NODE = [22, 19] as const;

/**
 * The sentence for a Node.js that is too old; undefined for a supported one.
 * @param version such as `20.20.2`
 */
function oldNode(name: string, version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return undefined;
  return `${name} requires Node.js ${oldestMajor}.${oldestMinor} or newer, but this is Node.js ${version}: install a newer Node.js`;
}

/**
 * Starts a program: verifies the version of Node.js and loads the rest.
 *
 * This module and the modules that call it have no static import of a Node.js module. An older Node.js would stop at an import of
 * a name that it does not have, with a `SyntaxError` and before any code runs.
 * @param load imports the module with the rest of the program
 */
export function startProgram(name: string, load: () => Promise<unknown>): void {
  const problem = oldNode(name, process.versions.node);
  if (problem !== undefined) {
    process.stderr.write(`${problem}\n`);
    process.exitCode = 1;
    return;
  }
  // The modules are compiled once, not at every start. From source, Node.js also strips the types once.
  process.getBuiltinModule('node:module').enableCompileCache();
  load().catch((error: unknown) => {
    // Node.js would write its version as the last line of the log. The last line must be the cause.
    const { message, stack } = error instanceof Error ? error : { message: String(error), stack: '' };
    process.stderr.write(`${stack}\n${name}: the program could not start: ${message}\n`);
    process.exit(1);
  });
}
