/** The types of objects that each command accepts. For the first type, users can write only the name. */
const OBJECTS: Readonly<Record<string, readonly string[]>> = {
  tree: ['machinedeployment'],
  explain: ['machinedeployment', 'machine'],
  events: ['machinedeployment', 'machineset', 'machine', 'machineclass'],
  journal: ['machinedeployment', 'machineset', 'machine'],
  drain: ['machine'],
  'cloud interrupt': ['machine'],
  'config status': ['pool'],
  'config explain': ['pool'],
};

/** Returns the types of objects that a command accepts. If the command accepts no object, the list is empty. */
export const typesOf = (path: string): readonly string[] =>
  path.startsWith('rollout ') ? ['machinedeployment'] : (OBJECTS[path] ?? []);

/** Commands whose arguments are names, but not names of objects. */
const OTHERS: Readonly<Record<string, 'logs' | 'zones' | 'replicas' | 'clusters'>> = {
  logs: 'logs',
  'zone evacuate': 'zones',
  'zone return': 'zones',
  'fleet drain': 'replicas',
  'fleet undrain': 'replicas',
  'fleet weight': 'replicas',
  'fleet move': 'clusters',
};

/** Returns the names that a command accepts in addition to names of objects. */
export const otherNamesOf = (path: string): (typeof OTHERS)[string] | undefined => OTHERS[path];

const NAMED_FLAGS: readonly string[] = [
  '--context',
  '-n',
  '--namespace',
  '--machine',
  '--provider',
  '--deployment',
  '--pool',
  '--to',
  '--cluster',
];

/** Returns true if the completion of a command runs `mcm __complete` to find names. */
export const takesNames = (path: string): boolean => otherNamesOf(path) !== undefined || typesOf(path).length > 0;

/** Returns true if the completion of the flag's value runs `mcm __complete`. */
export const isNamed = (flags: readonly string[]): boolean => flags.some((flag) => NAMED_FLAGS.includes(flag));

/** Returns true if the value of the flag can be a file. A driver for `--provider` can be a file. */
export const acceptsFiles = (flag: string): boolean => !NAMED_FLAGS.includes(flag) || flag === '--provider';
