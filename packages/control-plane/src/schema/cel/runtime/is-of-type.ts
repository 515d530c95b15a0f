import type { CelType } from '../types/types.ts';
import { Duration, isMap, isOpaque, Optional, Timestamp, Uint } from './values.ts';

export function isOfType(value: unknown, type: CelType): boolean {
  switch (type.kind) {
    case 'dyn':
    case 'param':
      return true;
    case 'int':
      return typeof value === 'bigint';
    case 'uint':
      return value instanceof Uint;
    case 'double':
      return typeof value === 'number';
    case 'bool':
      return typeof value === 'boolean';
    case 'string':
      return typeof value === 'string';
    case 'bytes':
      return value instanceof Uint8Array;
    case 'null':
      return value === null;
    case 'timestamp':
      return value instanceof Timestamp;
    case 'duration':
      return value instanceof Duration;
    case 'list':
      return Array.isArray(value);
    case 'map':
    case 'object':
      return isMap(value);
    case 'optional':
      return value instanceof Optional;
    case 'opaque':
      return isOpaque(value) && value.opaque === type.name;
    default:
      return isOpaque(value) && value.opaque === 'type';
  }
}
