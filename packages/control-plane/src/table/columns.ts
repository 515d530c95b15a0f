import { goJson, isRecord } from '../apimachinery/objects/json-value.ts';
import type { KindDefinition, PrinterColumn } from '../apimachinery/objects/kind.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { ageOf } from './age.ts';
import { compileJsonPath, JsonPathError } from './jsonPath.ts';

const NAME_DESCRIPTION =
  'Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names';

const CREATED_DESCRIPTION =
  'CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata';

type Cell = string | number | bigint | boolean | null;

export interface TableColumn {
  readonly definition: Record<string, unknown> | undefined;
  readonly cell: (object: ApiObject, now: Date) => Cell;
}

const define = (
  name: string,
  type: string,
  description: string,
  extra: { format?: string; priority?: number } = {},
) => ({
  name,
  type,
  format: extra.format ?? '',
  description,
  priority: extra.priority ?? 0,
});

const NAME: TableColumn = {
  definition: define('Name', 'string', NAME_DESCRIPTION, { format: 'name' }),
  cell: (object) => object.metadata.name ?? '',
};

const AGE: TableColumn = {
  definition: define('Age', 'date', CREATED_DESCRIPTION),
  // A bookmark has no creation time, so its cell is empty. A JSON path without a value also has an empty cell.
  cell: ({ metadata: { creationTimestamp } }, now) =>
    typeof creationTimestamp === 'string' ? ageOf(creationTimestamp, now) : null,
};

const CREATED_AT: TableColumn = {
  definition: define('Created At', 'date', CREATED_DESCRIPTION),
  cell: (object) => object.metadata.creationTimestamp ?? '0001-01-01T00:00:00Z',
};

/** Formats a value like the JSON path printer of Go. */
function text(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null) return '<no value>';
  if (Array.isArray(value) || isRecord(value)) return goJson(value);
  return String(value);
}

function cellOf(type: string, value: unknown, now: Date): Cell {
  switch (type) {
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : typeof value === 'bigint' ? value : null;
    case 'number':
      return typeof value === 'number' ? value : typeof value === 'bigint' ? Number(value) : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      return typeof value === 'string' ? ageOf(value, now) : null;
    default:
      return text(value);
  }
}

function customColumn(column: PrinterColumn): TableColumn {
  const path = compileJsonPath(column.jsonPath ?? '');
  const description =
    column.description === undefined || column.description === ''
      ? `Custom resource definition column (in JSONPath format): ${column.jsonPath}`
      : column.description;
  return {
    definition: define(column.name, column.type, description, column),
    cell: (object, now) => {
      const found = path(object);
      return found.length === 0 ? null : cellOf(column.type, found[0], now);
    },
  };
}

/** Returns a column of a built-in kind. A column with a time has the type string, and its cells contain the age. */
function builtinColumn(column: PrinterColumn): TableColumn {
  const { value } = column;
  if (value === undefined) return customColumn(column);
  const isAge = column.type === 'date' && column.name !== 'Created At';
  const description = column.description ?? (column.type === 'date' ? CREATED_DESCRIPTION : '');
  return {
    definition: column.hidden ? undefined : define(column.name, isAge ? 'string' : column.type, description, column),
    cell: isAge ? (object, now) => ageOf(value(object, now), now) : value,
  };
}

/** A cell of the column Name may contain more than the name, such as the mark of a default class. */
const nameColumn = ({ value, format = 'name', priority = 0 }: PrinterColumn): TableColumn => ({
  definition: { ...NAME.definition, format, priority },
  cell: value ?? NAME.cell,
});

/** Returns the columns before the first column with an invalid JSON path, as in kube-apiserver. */
function readableColumns(columns: readonly PrinterColumn[]): TableColumn[] {
  const readable: TableColumn[] = [];
  for (const column of columns) {
    try {
      readable.push(customColumn(column));
    } catch (error) {
      if (error instanceof JsonPathError) break;
      throw error;
    }
  }
  return readable;
}

function buildColumns(kind: KindDefinition): readonly TableColumn[] {
  if (kind.columns === undefined || kind.columns.length === 0) return [NAME, kind.custom ? AGE : CREATED_AT];
  if (kind.custom) return [NAME, ...readableColumns(kind.columns)];
  return kind.columns.map((column) => (column.name === 'Name' ? nameColumn(column) : builtinColumn(column)));
}

const known = new WeakMap<KindDefinition, readonly TableColumn[]>();

/**
 * The Table of a custom kind has the column Name, followed by its declared columns. The Table of a kind without
 * declared columns has Name, and Age (custom) or Created At (built-in).
 */
export function columnsOf(kind: KindDefinition): readonly TableColumn[] {
  let columns = known.get(kind);
  if (columns === undefined) {
    columns = buildColumns(kind);
    known.set(kind, columns);
  }
  return columns;
}
