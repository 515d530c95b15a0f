/** The types of objects that each command accepts. Users may omit the first type. */
const OBJECTS: Readonly<Record<string, readonly string[]>> = {
  tree: ['machinedeployment'],
  explain: ['machinedeployment', 'machine'],
  events: ['machinedeployment', 'machineset', 'machine', 'machineclass'],
  journal: ['machinedeployment', 'machineset', 'machine'],
  drain: ['machine'],
  'config status': ['pool'],
  'config explain': ['pool'],
};

/** The types of objects that a command accepts. The list is empty if the command accepts no object. */
export const typesOf = (path: string): readonly string[] =>
  path.startsWith('rollout ') ? ['machinedeployment'] : (OBJECTS[path] ?? []);

const NAMED_FLAGS: readonly string[] = ['--context', '--namespace', '--machine', '--provider'];

/** Whether the completion of a command runs `mcm __complete` to find names. */
export const takesNames = (path: string): boolean => path === 'logs' || typesOf(path).length > 0;

/** Whether the completion of the flag's value runs `mcm __complete`. */
export const isNamed = (flags: readonly string[]): boolean => flags.some((flag) => NAMED_FLAGS.includes(flag));
