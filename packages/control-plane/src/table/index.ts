import type { KindDefinition } from '../kinds/kind.ts';
import type { ApiObject } from '../object.ts';
import { columnsOf } from './columns.ts';

export { ageOf, humanDuration } from './age.ts';
export { CREATED_DESCRIPTION, NAME_DESCRIPTION } from './columns.ts';
export { compileJsonPath, JsonPathError } from './jsonPath.ts';

/** How a Table is made. */
export interface TableOptions {
  readonly now: Date;
  readonly includeObject: 'None' | 'Metadata' | 'Object';
  /** Metadata of the list; default: the resourceVersion of the only object. */
  readonly listMeta?: Record<string, unknown>;
  /** Later events of a watch carry no column definitions. */
  readonly noHeaders?: boolean;
}

function rowObject(object: ApiObject, include: TableOptions['includeObject']): unknown {
  if (include === 'None') return null;
  if (include === 'Object') return object;
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata };
}

const metadataOf = (objects: readonly ApiObject[]): Record<string, unknown> => {
  const [only] = objects;
  if (objects.length !== 1 || only?.metadata.resourceVersion === undefined) return {};
  return { resourceVersion: only.metadata.resourceVersion };
};

/** Objects as a `meta.k8s.io/v1` Table, which is what kubectl prints. */
export function toTable(
  kind: KindDefinition,
  objects: readonly ApiObject[],
  options: TableOptions,
): Record<string, unknown> {
  const columns = columnsOf(kind);
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: options.listMeta ?? metadataOf(objects),
    columnDefinitions: options.noHeaders ? null : columns.map((column) => column.definition),
    rows: objects.map((object) => {
      const conditions = kind.rowConditions?.(object) ?? [];
      return {
        cells: columns.map((column) => column.cell(object, options.now)),
        ...(conditions.length === 0 ? {} : { conditions }),
        object: rowObject(object, options.includeObject),
      };
    }),
  };
}
