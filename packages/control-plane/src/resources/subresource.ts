import type { Json } from '../apimachinery/objects/object.ts';
import type { WriteOptions, WriteOptionsKind } from './options.ts';
import type { Call, Registry, Target } from './registry.ts';
import type { SentBody } from './sent-body.ts';

/** A request for a subresource, whose body or response is not the main object. */
export interface SubresourceRequest {
  readonly registry: Registry;
  readonly target: Target;
  readonly call: Call;
  readonly method: string;
  readonly query: URLSearchParams;
  /** The parts of the path after the subresource. */
  readonly rest: readonly string[];
  /** The media type of the body without its parameters. */
  readonly contentType: string;
  body(): Promise<Uint8Array>;
  /** @param kindName the expected kind, which error messages contain */
  readBody(kindName: string): Promise<SentBody>;
  options(kind: WriteOptionsKind, applying?: boolean): WriteOptions;
}

/** The response: a JSON text, or a value that becomes JSON. */
export interface SubresourceAnswer {
  readonly status: number;
  readonly text?: string;
  readonly body?: Json;
}

/** @throws StatusError if the request is refused, for example 405 for an unsupported method */
export type SubresourceHandler = (request: SubresourceRequest) => Promise<SubresourceAnswer>;
