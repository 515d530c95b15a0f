import type { ApiObject, JsonObject } from './object.ts';
import type { StatusCause } from './status.ts';

/**
 * A JSON schema in the dialect of `apiextensions.k8s.io/v1` (`JSONSchemaProps`), with its `x-kubernetes-*` extensions.
 *
 * - Built-in schemas are graphs. A shared definition (`io.k8s.api.core.v1.PodSpec`) is one object with its name as
 * `$id`, and the definition may contain itself.
 * - A function that visits a schema must stop at the depth of the data, or cache its results for each schema object.
 * - A function that writes a document with references must write a reference to `$id` instead of the definition.
 */
export interface JsonSchema {
  $id?: string;
  type?: string;
  format?: string;
  description?: string;
  properties?: Record<string, JsonSchema>;
  additionalProperties?: boolean | JsonSchema;
  items?: JsonSchema;
  required?: string[];
  default?: unknown;
  enum?: unknown[];
  nullable?: boolean;
  [keyword: string]: unknown;
}

/** A column of `kubectl get`. A column of a custom kind has a JSON path, and a column of a built-in kind has a function. */
export interface PrinterColumn {
  /**
   * Whether the column definitions of a Table response omit this column. As in kube-apiserver, each row still has a
   * cell for the column.
   */
  readonly hidden?: boolean;
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
  readonly jsonPath?: string;
  /**
   * Returns the value of a table cell. A `date` column returns an RFC 3339 time, and the table printer converts the
   * time to an age.
   */
  readonly value?: (object: ApiObject, now: Date) => string | number | bigint | boolean | null;
}

export interface StrategyContext {
  readonly now: Date;
  readonly subresource: string;
  readonly userName: string;
  /** Whether the request is a dry run, which does not store the object. */
  readonly dryRun?: boolean;
  /** Returns the stored objects of a resource, such as `networking.k8s.io/servicecidrs`. */
  readonly stored?: (resource: string) => readonly ApiObject[];
  readonly newUid: () => string;
}

/** The part of an object that a request writes. A deletion writes only the metadata. */
export type WrittenPart = 'spec' | 'status' | 'metadata';

/** The definition of one kind: its names, its schema, and the functions that prepare and validate its objects. */
export interface KindDefinition {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly namespaced: boolean;
  /** The verbs of the kind (default: create, delete, deletecollection, get, list, patch, update and watch). */
  readonly verbs?: readonly string[];
  /**
   * Without a schema, the server keeps all fields of an object. The functions `validate` and `validateUpdate` check the
   * values.
   */
  readonly schema?: JsonSchema;
  /** The name of the model in the client library, which only built-in kinds have. */
  readonly model?: string;
  /** Whether the kind comes from a CRD. */
  readonly custom: boolean;
  /**
   * Whether the server sets `metadata.generation` and increments the generation at each change outside of metadata and
   * status.
   */
  readonly hasGeneration?: boolean;
  readonly subresources?: {
    /**
     * Whether the kind has a status subresource. With a status subresource, writes to the main resource never change
     * `status`, and writes to the status change only `status`.
     */
    readonly status?: boolean;
    readonly scale?: {
      readonly specReplicasPath: string;
      readonly statusReplicasPath: string;
      readonly labelSelectorPath?: string;
    };
  };
  /**
   * Whether the generation increases when an absent field becomes an empty list or map (`reflect.DeepEqual` in
   * Kubernetes).
   */
  readonly generationTellsEmpty?: boolean;
  readonly generationCounts?: 'annotations' | 'labels';
  /** Whether the generation increases when a client sends another value for a field that the server drops. */
  readonly generationCountsDropped?: boolean;
  /** The handlers of subresources are in registry/subresources/find.ts. */
  readonly otherSubresources?: readonly string[];
  readonly columns?: readonly PrinterColumn[];
  /**
   * The annotations that are fields in the internal form. Tables and metadata-only responses omit these annotations.
   */
  readonly innerAnnotations?: readonly string[];
  /** Returns the conditions of a row in a Table response. */
  readonly rowConditions?: (object: ApiObject) => readonly JsonObject[];
  /**
   * Functions that read additional fields for field selectors. All kinds support `metadata.name` and
   * `metadata.namespace`.
   */
  readonly selectableFields?: Readonly<Record<string, (object: ApiObject) => string>>;
  /** Functions that read fields which only the field selectors of another version support. */
  readonly otherFields?: Readonly<Record<string, (object: ApiObject) => string>>;
  /** Both conversions of `storedAs` take a whole object, may mutate the object, and return the converted object. */
  readonly storedAs?: {
    readonly resource: string;
    readonly encode: (object: ApiObject) => ApiObject;
    readonly decode: (object: ApiObject) => ApiObject;
    readonly keep?: (encoded: ApiObject, stored: ApiObject, part: WrittenPart) => ApiObject;
  };
  readonly deprecationWarning?: string;
  /** All versions of a custom kind, even versions that the server does not serve. */
  readonly versions?: readonly string[];
  /** Finds another version of a custom kind by its apiVersion, including versions that the server does not serve. */
  readonly inVersion?: (apiVersion: string) => KindDefinition | undefined;
  /** The storage version of a custom kind, or undefined if the storage version has the same schema. */
  readonly stored?: KindDefinition;
  /** The storage version of a custom kind, unless this version is the storage version. */
  readonly storageVersion?: string;
  /** Whether the server refuses a PUT without a resourceVersion (custom kinds, leases). */
  readonly requiresResourceVersion?: boolean;
  /** Whether a PUT creates an object if the object does not exist (leases). */
  readonly createOnUpdate?: boolean;
  /**
   * Returns the default grace period of a delete in seconds. With a grace period of 0, the server deletes the object at
   * once. For a pod, the default is the period in its spec, or 30 seconds.
   */
  readonly gracePeriodSeconds?: (object: ApiObject) => number;
  readonly markForDeletion?: (object: ApiObject, now: Date) => void;
  /** The server refuses new objects of a kind whose CRD is being deleted. */
  readonly terminating?: boolean;
  readonly propagationWarning?: string;
  /** `Unsupported` means that the kind has no dependents. */
  readonly defaultPropagation?: 'Background' | 'Foreground' | 'Orphan' | 'Unsupported';
  /**
   * Sets defaults that depend on other fields. Built-in kinds also make quantities canonical and remove nulls (see
   * `shape.ts`).
   * @throws DecodeError (a StatusError 400) for a built-in kind when a value has the wrong type
   */
  readonly setDefaults?: (object: ApiObject) => void;
  /** Changes the stored JSON text of an object for a response. */
  readonly shownAs?: (text: string) => string;
  /**
   * Sets defaults when an object is stored or read, and returns whether a default was missing. The validation runs
   * before `defaultsOnRead` sets its fields.
   */
  readonly defaultsOnRead?: (object: ApiObject) => boolean;
  /** Prepares an object for its creation: removes fields that a client may not set, and sets fields of the server. */
  readonly prepareForCreate?: (object: ApiObject, context: StrategyContext) => void;
  readonly prepareForUpdate?: (object: ApiObject, old: ApiObject, context: StrategyContext) => void;
  /** Returns the validation errors that the schema cannot detect, as causes of a 422 error. */
  readonly validate?: (object: ApiObject, context: StrategyContext) => StatusCause[];
  /** Compares the new object with the stored object. Returns the errors of the new object and of the changes. */
  readonly validateUpdate?: (object: ApiObject, old: ApiObject, context: StrategyContext) => StatusCause[];
  /** Returns the texts of `Warning` headers for a valid object. For a new object, `old` is undefined. */
  readonly warnings?: (object: ApiObject, old: ApiObject | undefined) => string[];
  readonly validateName?: (name: string) => string[];
  /** Whether the server validates the metadata of a new object only if `validate` finds no error. */
  readonly assessesMetaLast?: boolean;
}

export const resourceId = (kind: Pick<KindDefinition, 'group' | 'plural'>): string => `${kind.group}/${kind.plural}`;

export const apiVersionOf = (kind: Pick<KindDefinition, 'group' | 'version'>): string =>
  kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
