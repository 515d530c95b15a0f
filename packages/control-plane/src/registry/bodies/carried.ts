import { internalError } from '../../apimachinery/errors/errors.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { StatusError } from '../../apimachinery/objects/status.ts';
import { bodyKinds, builtinKinds, customScaleKind } from '../../kinds/index.ts';
import type { AdmissionAttributes, CarriedKind } from '../../resources/admission.ts';
import { ServedKind } from '../../resources/kind-registry.ts';
import { normalize } from './decode.ts';

const KNOWN: ReadonlyMap<string, ServedKind> = new Map(
  [...bodyKinds, ...builtinKinds.filter(({ plural }) => plural === 'bindings')].map((kind) => [
    kind.kind,
    new ServedKind(kind),
  ]),
);

/** @throws Error if the server does not know the kind */
function carriedKind(name: string): ServedKind {
  const served = KNOWN.get(name);
  if (served === undefined) throw new Error(`no body of a request is a ${name}`);
  return served;
}

/** Returns the kind of a request body for the admission attributes. */
export const carried = ({ kind: { group, version, kind } }: ServedKind): CarriedKind => ({ group, version, kind });

export const CARRIED_BINDING = carriedKind('Binding');
export const CARRIED_EVICTION = carriedKind('Eviction');
export const CARRIED_SCALE = carriedKind('Scale');
export const CUSTOM_SCALE = new ServedKind(customScaleKind);
export const CARRIED_TOKEN_REQUEST = carriedKind('TokenRequest');

const shown = (apiVersion: string, kind: string): string => {
  const [group = '', version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  return `(${version ?? group}.${kind})`;
};

/**
 * Decodes an object that an admission plugin returned.
 * @throws StatusError 500 if the object is invalid.
 */
function readAs(made: ApiObject, served: ServedKind): readonly string[] {
  try {
    return normalize(made, served);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    throw internalError(error.message.replace(/^.* cannot be handled as a \w+: /, ''));
  }
}

/**
 * Decodes a request body that an admission plugin returned.
 * @throws StatusError 500 with the error text of kube-apiserver if the body is invalid
 */
export function readCarried(made: ApiObject, { carries, object }: AdmissionAttributes): ApiObject {
  if (carries === undefined || jsonEquals(made, object)) return made;
  const { group, version, kind } = carries;
  const apiVersion = group === '' ? version : `${group}/${version}`;
  if (made.kind !== kind || made.apiVersion !== apiVersion) {
    const internal = group === '' ? 'core' : (group.split('.')[0] ?? '');
    throw new StatusError({
      message: `converting ${shown(String(made.apiVersion), String(made.kind))} to (${internal}.${kind}): unknown conversion`,
      code: 500,
    });
  }
  const served = KNOWN.get(kind);
  if (typeof made.metadata !== 'object' || made.metadata === null) made.metadata = object?.metadata ?? {};
  if (served !== undefined) readAs(made, served);
  return made;
}

/**
 * Decodes an object that an admission plugin returned.
 * @param strict Whether an unknown field is an error.
 * @throws StatusError 500 if the object is invalid.
 */
export function readMade(made: ApiObject, served: ServedKind, apiVersion: string, strict = false): ApiObject {
  const { kind, custom = false } = served.kind;
  const given = { apiVersion: made.apiVersion || apiVersion, kind: made.kind || kind };
  if (!custom && (given.kind !== kind || given.apiVersion !== apiVersion)) {
    throw internalError(
      `no kind ${JSON.stringify(given.kind)} is registered for version ${JSON.stringify(given.apiVersion)} in scheme "pkg/runtime/scheme.go:111"`,
    );
  }
  const { apiVersion: _version, kind: _kind, ...rest } = made;
  const object = { apiVersion: served.apiVersion, kind: custom ? given.kind : kind, ...rest } as ApiObject;
  if (!isRecord(object.metadata)) object.metadata = {};
  const unknown = readAs(object, served);
  if (strict && !custom && unknown.length > 0) {
    throw internalError(`strict decoding error: ${unknown.map((field) => `unknown field "${field}"`).join(', ')}`);
  }
  return object;
}
