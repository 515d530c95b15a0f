import { CelRuntimeError, Duration, isMap, isOpaque, Optional, Timestamp, Uint } from './values.ts';

function typeWord(value: unknown): string {
  if (value === null) return 'null_type';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'number') return 'double';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  if (value instanceof Uint) return 'uint';
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof Timestamp) return 'google.protobuf.Timestamp';
  if (value instanceof Duration) return 'google.protobuf.Duration';
  if (value instanceof Optional) return 'optional_type';
  if (Array.isArray(value)) return 'list';
  if (isMap(value)) return 'map';
  return isOpaque(value) ? value.opaque : 'type';
}

const GO_TYPES: Readonly<Record<string, string>> = {
  null_type: 'types.Null',
  int: 'types.Int',
  double: 'types.Double',
  bool: 'types.Bool',
  string: 'types.String',
  uint: 'types.Uint',
  bytes: 'types.Bytes',
  'google.protobuf.Timestamp': 'types.Timestamp',
  'google.protobuf.Duration': 'types.Duration',
  optional_type: '*types.Optional',
};

const TIMES = ['google.protobuf.Timestamp', 'google.protobuf.Duration'];
const NUMBERS = ['int', 'uint', 'double'];
const COMPARED = new Set([...NUMBERS, ...TIMES, 'bool', 'string', 'bytes']);
const MULTIPLIED = new Set([...NUMBERS, 'string', ...TIMES]);

/**
 * If the first value of an operator or function has one of these types, the error of cel-go omits the name of the
 * function.
 * @see cel-go common/types, the traits of each type
 */
const LOOKING: Readonly<Record<string, ReadonlySet<string>>> = {
  '_+_': new Set([...NUMBERS, ...TIMES, 'string', 'bytes', 'list']),
  '_-_': MULTIPLIED,
  '_*_': MULTIPLIED,
  '_/_': MULTIPLIED,
  '_%_': new Set(['int', 'uint', 'string', ...TIMES]),
  '-_': new Set(['int', 'double', 'bool', 'string', ...TIMES]),
  '_<_': COMPARED,
  '_<=_': COMPARED,
  '_>_': COMPARED,
  '_>=_': COMPARED,
  size: new Set(['string', 'bytes', 'list', 'map', ...TIMES]),
};

export function noOverload(name: string, values: readonly unknown[]): CelRuntimeError {
  const [first] = values;
  const looking = LOOKING[name];
  if (looking !== undefined) {
    return new CelRuntimeError(looking.has(typeWord(first)) ? 'no such overload' : `no such overload: ${name}`);
  }
  // If a function has one argument, the error contains the type of the argument.
  const isPlain = /^[A-Za-z]/.test(name) && values.length === 1;
  return new CelRuntimeError(isPlain ? `no such overload: ${name}(${typeWord(first)})` : 'no such overload');
}

export function notIterable(value: unknown): CelRuntimeError {
  const type = GO_TYPES[typeWord(value)];
  return new CelRuntimeError(type === undefined ? 'no such overload' : `got '${type}', expected iterable type`);
}
