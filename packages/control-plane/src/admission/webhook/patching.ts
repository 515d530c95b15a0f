import { internalError, jsonTypeOf } from '../../apimachinery/errors/errors.ts';
import { jsonProblem } from '../../apimachinery/errors/json-problem.ts';
import type { ApiObject, JsonObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals, tidyMeta } from '../../apimachinery/objects/object-text.ts';
import { StatusError } from '../../apimachinery/objects/status.ts';
import { applyJsonPatch, patchProblem } from '../../patch/index.ts';
import { parseJsonBody } from '../../registry/bodies/body.ts';
import { readCarried, readMade } from '../../registry/bodies/carried.ts';
import type { AdmissionAttributes } from '../../resources/admission.ts';
import { presented } from '../matching/request.ts';
import type { Invocation } from './hook.ts';
import { type Verdict, WebhookFailure } from './reply.ts';

export interface Patched {
  readonly object: ApiObject;
  /** Whether a patch changed the object. After a change, the server calls webhooks with reinvocation again. */
  readonly changed: boolean;
}

/** @throws WebhookFailure for an invalid patch */
function operationsOf(patch: string): readonly unknown[] {
  const text = Buffer.from(patch, 'base64').toString('utf8');
  const undecodable = (why: string) => new WebhookFailure(`received undecodable patch in webhook response: ${why}`);
  let operations: unknown;
  try {
    operations = parseJsonBody(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw undecodable(jsonProblem(text));
  }
  if (operations === null) return [];
  if (!Array.isArray(operations)) {
    throw undecodable(`json: cannot unmarshal ${jsonTypeOf(operations)} into Go value of type jsonpatch.Patch`);
  }
  return operations;
}

function applied(object: ApiObject, operations: readonly unknown[]): ApiObject {
  let document = structuredClone(object) as JsonObject;
  for (const operation of operations) {
    try {
      document = applyJsonPatch(document, [operation]);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      throw internalError(patchProblem(document, operation));
    }
  }
  return document as ApiObject;
}

/** Applies the patches of one round of calls. */
export class Patching {
  readonly #fresh: boolean;
  #patched = false;

  constructor({ served, object, old, reinvocation }: AdmissionAttributes) {
    // The first patch of a built-in kind always counts as a change of the object.
    this.#fresh =
      !served.kind.custom &&
      (reinvocation?.round ?? 0) === 0 &&
      !jsonEquals(object?.metadata.managedFields, old?.metadata.managedFields);
  }

  /**
   * Applies the patch of a webhook, and parses the result like a request body.
   * @throws WebhookFailure for an invalid patch, or StatusError 500 if the patch cannot be applied
   */
  apply(attributes: AdmissionAttributes, { hook, as }: Invocation, verdict: Verdict): Patched | undefined {
    const { object, served } = attributes;
    const operations = verdict.patch === undefined ? [] : operationsOf(verdict.patch);
    if (operations.length === 0) return undefined;
    if (object === undefined) {
      throw internalError(
        `admission webhook ${JSON.stringify(hook.name)} attempted to modify the object, which is not supported for this operation`,
      );
    }
    if (verdict.patchType !== 'JSONPatch') {
      throw new WebhookFailure(`unsupported patch type ${JSON.stringify(verdict.patchType)}`);
    }
    const made = applied(presented(object, as, attributes) ?? object, operations);
    const read =
      attributes.carries === undefined ? readMade(made, served, as.apiVersion) : readCarried(made, attributes);
    const first = this.#fresh && !this.#patched;
    this.#patched = true;
    const shown = { ...object, apiVersion: served.apiVersion, metadata: tidyMeta(object.metadata) };
    return { object: read, changed: first || !jsonEquals({ ...read, metadata: tidyMeta(read.metadata) }, shown) };
  }
}
