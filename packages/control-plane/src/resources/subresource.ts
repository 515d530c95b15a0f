import type { Json } from '../apimachinery/objects/object.ts';
import type { WriteOptions, WriteOptionsKind } from './options.ts';
import type { Call, Registry, Target } from './registry.ts';
import type { SentBody } from './sent-body.ts';

/** The body or the response is not the requested object. */
export interface SubresourceRequest {
  readonly registry: Registry;
  readonly target: Target;
  readonly call: Call;
  readonly method: string;
  readonly query: URLSearchParams;
  /** The path segments after the subresource. */
  readonly rest: readonly string[];
  /** The media type without parameters. */
  readonly contentType: string;
  body(): Promise<Uint8Array>;
  /** @param kindName the expected kind, for error messages */
  readBody(kindName: string): Promise<SentBody>;
  options(kind: WriteOptionsKind, applying?: boolean): WriteOptions;
}

/** JSON text, or a value that is converted to JSON. */
export interface SubresourceAnswer {
  readonly status: number;
  readonly text?: string;
  readonly body?: Json;
}

/** @throws StatusError, for example 405 for an unsupported method */
export type SubresourceHandler = (request: SubresourceRequest) => Promise<SubresourceAnswer>;
