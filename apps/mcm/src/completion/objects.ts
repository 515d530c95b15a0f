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

/** Returns the types of objects that a command accepts. */
export const typesOf = (path: string): readonly string[] =>
  path.startsWith('rollout ') ? ['machinedeployment'] : (OBJECTS[path] ?? []);

/** The commands whose arguments are names, but not of objects. */
const OTHERS: Readonly<Record<string, 'logs' | 'zones' | 'replicas' | 'clusters'>> = {
  logs: 'logs',
  'zone evacuate': 'zones',
  'zone return': 'zones',
  'fleet drain': 'replicas',
  'fleet undrain': 'replicas',
  'fleet weight': 'replicas',
  'fleet move': 'clusters',
};

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

/** Returns true if the shell runs `mcm __complete` to find the arguments of a command. */
export const takesNames = (path: string): boolean => otherNamesOf(path) !== undefined || typesOf(path).length > 0;

/** Returns true if the shell runs `mcm __complete` to find the value of a flag. */
export const isNamed = (flags: readonly string[]): boolean => flags.some((flag) => NAMED_FLAGS.includes(flag));

/** Returns true if the value of a flag can be a file. */
export const acceptsFiles = (flag: string): boolean => !NAMED_FLAGS.includes(flag) || flag === '--provider';
