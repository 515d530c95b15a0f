import { errorText } from '../base/error-text.ts';

/** The request of an API server to an admission webhook. */
export interface AdmissionRequest {
  readonly uid: string;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  readonly namespace?: string;
  readonly name?: string;
  readonly subResource?: string;
  readonly object: unknown;
  readonly oldObject: unknown;
}

/** An error about one invalid field, with the text that `kubectl` prints. */
export interface AdmissionCause {
  readonly field: string;
  readonly reason: string;
  readonly message: string;
}

/** The response of an admission webhook. */
export interface AdmissionVerdict {
  /** An empty list of causes allows the request. */
  readonly causes: readonly AdmissionCause[];
  readonly patch?: readonly object[];
  readonly warnings?: readonly string[];
}

/** Decides whether an admission request is allowed. */
export type AdmissionHandler = (request: AdmissionRequest) => AdmissionVerdict | Promise<AdmissionVerdict>;

const isRequest = (value: unknown): value is AdmissionRequest =>
  typeof value === 'object' && value !== null && 'uid' in value && typeof value.uid === 'string' && 'kind' in value;

function parseRequest(body: string): AdmissionRequest | undefined {
  try {
    const review: unknown = JSON.parse(body);
    const request = typeof review === 'object' && review !== null && 'request' in review ? review.request : undefined;
    return isRequest(request) ? request : undefined;
  } catch {
    return undefined;
  }
}

function refusal({ kind, name }: AdmissionRequest, causes: readonly AdmissionCause[]): object {
  const what = `${kind.kind}.${kind.group} "${name ?? ''}" is invalid`;
  return {
    status: 'Failure',
    code: 422,
    reason: 'Invalid',
    message: `${what}: ${causes.map(({ field, message }) => `${field}: ${message}`).join('; ')}`,
    details: { name: name ?? '', group: kind.group, kind: kind.kind, causes },
  };
}

/** Answers an AdmissionReview of `admission.k8s.io/v1`. The promise never rejects. */
export async function answerReview(body: string, handler: AdmissionHandler): Promise<{ status: number; body: string }> {
  const request = parseRequest(body);
  if (request === undefined) return { status: 400, body: 'the body must be an AdmissionReview with a request\n' };
  try {
    const { causes, patch = [], warnings = [] } = await handler(request);
    const response = {
      uid: request.uid,
      allowed: causes.length === 0,
      status: causes.length === 0 ? undefined : refusal(request, causes),
      patchType: patch.length === 0 ? undefined : 'JSONPatch',
      patch: patch.length === 0 ? undefined : Buffer.from(JSON.stringify(patch)).toString('base64'),
      warnings: warnings.length === 0 ? undefined : warnings,
    };
    return {
      status: 200,
      body: JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }),
    };
  } catch (error) {
    return { status: 500, body: `${errorText(error)}\n` };
  }
}
