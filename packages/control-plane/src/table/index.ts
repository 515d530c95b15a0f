import type { KindDefinition } from '../apimachinery/objects/kind.ts';
import type { ApiObject, ObjectMeta } from '../apimachinery/objects/object.ts';
import { defined } from '../apimachinery/objects/plain.ts';
import { columnsOf } from './columns.ts';

export { ageOf, humanDuration } from './age.ts';
export { compileJsonPath, JsonPathError } from './jsonPath.ts';

export interface TableOptions {
  readonly now: Date;
  readonly includeObject: 'None' | 'Metadata' | 'Object';
  readonly listMeta?: Record<string, unknown> | undefined;
  /** The stored versions of the objects, from which the cells are computed (default: `objects`). */
  readonly stored?: readonly ApiObject[] | undefined;
  /** Whether the Table omits the column definitions, as in later events of a watch. */
  readonly noHeaders?: boolean;
  readonly version?: 'v1' | 'v1beta1';
}

function rowObject(kind: KindDefinition, object: ApiObject, { includeObject, version = 'v1' }: TableOptions): unknown {
  if (includeObject === 'None') return null;
  if (includeObject === 'Object') return object;
  return {
    kind: 'PartialObjectMetadata',
    apiVersion: `meta.k8s.io/${version}`,
    metadata: plainMetadata(kind, object.metadata),
  };
}

/** Removes annotations that are fields in the internal type of kube-apiserver. */
export function plainMetadata({ innerAnnotations = [] }: KindDefinition, metadata: ObjectMeta): ObjectMeta {
  const { annotations, ...rest } = metadata;
  if (annotations === undefined || !innerAnnotations.some((name) => Object.hasOwn(annotations, name))) return metadata;
  const shown = Object.entries(annotations).filter(([name]) => !innerAnnotations.includes(name));
  return shown.length === 0 ? rest : { ...rest, annotations: Object.fromEntries(shown) };
}

const metadataOf = (objects: readonly ApiObject[]): Record<string, unknown> => {
  const [only] = objects;
  if (objects.length !== 1 || only?.metadata.resourceVersion === undefined) return {};
  return { resourceVersion: only.metadata.resourceVersion };
};

/**
 * Returns whether the Table lacks its list of rows. In kube-apiserver, built-in kinds without columns have no list of
 * rows.
 */
const withoutRows = (kind: KindDefinition, objects: readonly ApiObject[]): boolean =>
  objects.length === 0 && !kind.custom && (kind.columns ?? []).length === 0;

/** Converts objects to a Table of `meta.k8s.io`, which kubectl prints. */
export function toTable(
  kind: KindDefinition,
  objects: readonly ApiObject[],
  options: TableOptions,
): Record<string, unknown> {
  const columns = columnsOf(kind);
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${options.version ?? 'v1'}`,
    metadata: options.listMeta ?? metadataOf(objects),
    columnDefinitions: options.noHeaders ? null : columns.flatMap(({ definition }) => definition ?? []),
    rows: withoutRows(kind, objects)
      ? null
      : objects.map((object, index) => {
          const conditions = kind.rowConditions?.(object) ?? [];
          const printed = options.stored?.[index] ?? object;
          return defined({
            cells: columns.map((column) => column.cell(printed, options.now)),
            conditions: conditions.length === 0 ? undefined : conditions,
            object: rowObject(kind, object, options),
          });
        }),
  };
}
