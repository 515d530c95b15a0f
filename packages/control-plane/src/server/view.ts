import { internal } from '../apimachinery/errors/errors.ts';
import { type Format, PROTOBUF } from '../apimachinery/http/negotiate.ts';
import { parseJson, stringifyJson } from '../apimachinery/objects/json.ts';
import { isRecord } from '../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { defined, look, type Plain } from '../apimachinery/objects/plain.ts';
import { StatusError } from '../apimachinery/objects/status.ts';
import { encodeWatchEvent } from '../protobuf/index.ts';
import { CARRIED_SCALE, CUSTOM_SCALE } from '../registry/bodies/carried.ts';
import { type ListResult, listMeta, listText } from '../registry/reads/list.ts';
import { frame, type WatchFormat, WrongFormError } from '../registry/reads/watch.ts';
import type { ServedKind } from '../resources/kind-registry.ts';
import { roundTrip } from '../resources/shape.ts';
import type { StoredRecord } from '../store/record.ts';
import { plainMetadata, toTable } from '../table/index.ts';

type IncludeObject = 'None' | 'Metadata' | 'Object';

export interface ViewOptions {
  readonly served: ServedKind;
  readonly format: Format;
  readonly query: URLSearchParams;
  readonly now: Date;
  /** The name of the Go type, if the name differs from the kind. */
  readonly typeName?: string;
}

const wrongForm = (message: string): StatusError => new StatusError({ message, reason: 'NotAcceptable', code: 406 });

const goType = ({ kind }: ServedKind, list: boolean): string => {
  if (kind.custom) return list ? '*unstructured.UnstructuredList' : '*unstructured.Unstructured';
  const group = kind.group === '' ? 'core' : (kind.group.split('.')[0] ?? '');
  return `*${group}.${list ? kind.listKind : kind.kind}`;
};

const INCLUDES: readonly string[] = ['None', 'Metadata', 'Object'];

function includeObject(query: URLSearchParams): IncludeObject {
  const asked = query.get('includeObject') ?? '';
  if (asked === '') return 'Metadata';
  if (!INCLUDES.includes(asked)) {
    throw new StatusError({
      message: `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(asked)}: must be 'Metadata', 'Object', 'None', or empty`,
      reason: 'BadRequest',
      code: 400,
    });
  }
  return asked as IncludeObject;
}

/**
 * Validates the options of a Table before the response starts.
 * @throws StatusError 400 for an invalid option
 */
export function checkView({ format, query }: ViewOptions): void {
  if (format.as === 'Table') includeObject(query);
}

function table(
  { served, format, query, now }: ViewOptions,
  objects: readonly ApiObject[],
  meta: Record<string, unknown> | undefined,
  records: readonly StoredRecord[] = [],
): Record<string, unknown> {
  const isConverted = served.kind.storedAs !== undefined;
  return toTable(served.kind, objects, {
    now,
    stored: isConverted ? records.map(({ json }) => parseJson(json) as ApiObject) : undefined,
    includeObject: includeObject(query),
    version: format.version,
    listMeta: meta,
  });
}

const partial = ({ kind }: ServedKind, object: ApiObject, version: Format['version']) => ({
  kind: 'PartialObjectMetadata',
  apiVersion: `meta.k8s.io/${version}`,
  metadata: plainMetadata(kind, object.metadata),
});

/**
 * Refuses a custom object with a field `items`. kube-apiserver treats it as a list, so the write succeeds, but the
 * response is an error.
 */
function checkItems(text: string, { kind }: ServedKind): void {
  if (!kind.custom || !text.includes('"items":[')) return;
  if (Array.isArray((parseJson(text) as ApiObject)['items'])) {
    throw internal('*unstructured.Unstructured is not a list: no Items field in this object');
  }
}

/**
 * Returns an object in the negotiated form, as JSON text.
 * @param record the stored object
 * @throws StatusError 406 or 500 if the object cannot have this form
 */
export function viewObject(text: string, options: ViewOptions, record?: StoredRecord): string {
  const { served, format } = options;
  checkItems(text, served);
  if (format.as === undefined) return text;
  const object = parseJson(text) as ApiObject;
  if (format.as === 'Table') {
    const { resourceVersion } = object.metadata;
    const meta = resourceVersion === undefined ? {} : { resourceVersion };
    return stringifyJson(table(options, [object], meta, record === undefined ? [] : [record]));
  }
  if (format.as === 'PartialObjectMetadataList') {
    // For an untyped object, kube-apiserver first tries to read the object as a list, and returns the error of this
    // attempt.
    if (served.kind.custom && options.typeName === undefined) throw internal('content is not a list');
    throw wrongForm(
      `you requested PartialObjectMetadataList, but the requested object is not a list (${options.typeName ?? goType(served, false)})`,
    );
  }
  return stringifyJson(partial(served, object, format.version));
}

export const scaleView = (options: ViewOptions): ViewOptions =>
  options.served.kind.custom
    ? { ...options, served: CUSTOM_SCALE, typeName: '*v1.Scale' }
    : { ...options, served: CARRIED_SCALE };

/**
 * Returns a list in the negotiated form, as JSON text.
 * @throws StatusError 406 if the list cannot have this form
 */
export function viewList(result: ListResult, options: ViewOptions): string {
  const { served, format } = options;
  if (format.as === undefined) return listText(served, result);
  if (format.as === 'PartialObjectMetadata') {
    throw wrongForm(
      `you requested PartialObjectMetadata, but the requested object is a list (${goType(served, true)})`,
    );
  }
  const objects = result.records.map((record) => parseJson(served.textOf(record)) as ApiObject);
  const { continue: next, ...rest } = listMeta(served, result);
  const meta = next === '' || next === undefined ? rest : { ...rest, continue: next };
  if (format.as === 'Table') return stringifyJson(table(options, objects, meta, result.records));
  return stringifyJson({
    kind: 'PartialObjectMetadataList',
    apiVersion: `meta.k8s.io/${format.version}`,
    metadata: meta,
    // In Go, a list without items is nil, which is null in JSON.
    items: objects.length === 0 ? null : objects.map((object) => partial(served, object, format.version)),
  });
}

const withAnnotations = (annotations: Readonly<Record<string, string>>) =>
  Object.keys(annotations).length === 0 ? {} : { annotations };

const INITIAL_EVENTS_END = { 'k8s.io/initial-events-end': 'true' };

/** Fields that kube-apiserver adds to an empty object when it converts the internal type to an API version. */
const INTERNAL_ZEROS: Readonly<Record<string, Plain>> = {
  'apps/ControllerRevision': { data: null },
  'apps/DaemonSet': { spec: { selector: null } },
  'apps/Deployment': { spec: { replicas: 0, selector: null } },
  'apps/ReplicaSet': { spec: { replicas: 0, selector: null } },
  'apps/StatefulSet': { spec: { replicas: 0, selector: null } },
};

/** Returns annotations that kube-apiserver adds to an empty object when it converts the internal type. */
const zeroAnnotations = ({ kind }: ServedKind): Readonly<Record<string, string>> =>
  kind.group === 'apps' ? Object.fromEntries((kind.innerAnnotations ?? []).map((name) => [name, '0'])) : {};

/** Returns the fields of Go's empty object for a bookmark, except the type and the metadata. */
function zeroOf({ kind, apiVersion }: ServedKind): Record<string, unknown> {
  if (kind.custom || kind.model === undefined) return {};
  const empty: ApiObject = { apiVersion, kind: kind.kind, metadata: {} };
  roundTrip(empty, kind.model);
  const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...body } = empty;
  const more = INTERNAL_ZEROS[`${kind.group}/${kind.kind}`] ?? {};
  const spec = isRecord(body['spec']) ? { spec: { ...body['spec'], ...look(more, 'spec') } } : {};
  return { ...body, ...more, ...spec };
}

const protobufFrame = (type: string, object: string): Uint8Array =>
  encodeWatchEvent(type, parseJson(object) as ApiObject);

export function watchFormat(options: ViewOptions): WatchFormat {
  const form = watchForm(options);
  if (options.format.mediaType !== PROTOBUF) return { ...form, frame };
  const { shareKey } = form;
  return { ...form, shareKey: shareKey === undefined ? undefined : `${shareKey} protobuf`, frame: protobufFrame };
}

const notShown = (): never => {
  throw new WrongFormError();
};
const NO_FORM: Omit<WatchFormat, 'frame'> = { shareKey: undefined, object: notShown, bookmark: notShown };

function watchForm(options: ViewOptions): Omit<WatchFormat, 'frame'> {
  const { served, format } = options;
  const { kind } = served;
  if (format.as === 'Table') return tableFormat(options);
  if (format.as === 'PartialObjectMetadataList') return NO_FORM;
  if (format.as !== undefined) {
    return {
      shareKey: `partial ${format.version} ${served.apiVersion}`,
      object: (text) => stringifyJson(partial(served, parseJson(text) as ApiObject, format.version)),
      bookmark: (resourceVersion, end) =>
        JSON.stringify({
          kind: 'PartialObjectMetadata',
          apiVersion: `meta.k8s.io/${format.version}`,
          metadata: defined({ resourceVersion, annotations: end ? INITIAL_EVENTS_END : undefined }),
        }),
    };
  }
  const zero = zeroOf(served);
  const made = zeroAnnotations(served);
  return {
    shareKey: served.apiVersion,
    object: (text) => text,
    bookmark: (resourceVersion, end) =>
      JSON.stringify({
        kind: kind.kind,
        apiVersion: served.apiVersion,
        metadata: { resourceVersion, ...withAnnotations({ ...made, ...(end ? INITIAL_EVENTS_END : {}) }) },
        ...zero,
      }),
  };
}

function tableFormat(options: ViewOptions): Omit<WatchFormat, 'frame'> {
  const bare = (made: Record<string, unknown>, first: boolean) =>
    stringifyJson(first ? made : { ...made, columnDefinitions: null });
  return {
    shareKey: undefined,
    object: (text, first) => {
      const object = parseJson(text) as ApiObject;
      const { resourceVersion = '' } = object.metadata;
      return bare(table(options, [object], { resourceVersion }), first);
    },
    bookmark: (resourceVersion, end, first) => {
      const { served } = options;
      const metadata = defined({ resourceVersion, annotations: end ? INITIAL_EVENTS_END : undefined });
      const object: ApiObject = { kind: served.kind.kind, apiVersion: served.apiVersion, metadata };
      return bare(table(options, [object], { resourceVersion }), first);
    },
  };
}
