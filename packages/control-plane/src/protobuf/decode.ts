import type { KindDefinition } from '../kinds/kind.ts';
import type { ApiObject } from '../object.ts';
import { StatusError } from '../status.ts';

/** Decodes a body of `application/vnd.kubernetes.protobuf`. */
export function decodeProtobuf(
  _body: Uint8Array,
  _resolve: (apiVersion: string, kind: string) => KindDefinition | undefined,
): ApiObject {
  throw new StatusError({ code: 415, reason: 'UnsupportedMediaType', message: '415: Unsupported Media Type' });
}
