import type { Json } from '../apimachinery/objects/object.ts';
import type { WriteOptions, WriteOptionsKind } from './options.ts';
import type { Call, Registry, Target } from './registry.ts';
import type { SentBody } from './sent-body.ts';

export interface SubresourceRequest {
  readonly registry: Registry;
  readonly target: Target;
  readonly call: Call;
  readonly method: string;
  readonly query: URLSearchParams;
  readonly rest: readonly string[];
  readonly contentType: string;
  body(): Promise<Uint8Array>;
  readBody(kindName: string): Promise<SentBody>;
  options(kind: WriteOptionsKind, applying?: boolean): WriteOptions;
}

export interface SubresourceAnswer {
  readonly status: number;
  readonly text?: string;
  readonly body?: Json;
}

/** @throws StatusError if the request is refused, for example 405 for an unsupported method */
export type SubresourceHandler = (request: SubresourceRequest) => Promise<SubresourceAnswer>;
