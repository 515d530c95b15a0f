import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { look, strings, text } from '../../apimachinery/objects/plain.ts';
import { checkKubeletClient, KUBELET_CLIENT } from '../../certificates/signer.ts';
import { readSigningRequest, type SigningRequest } from '../../certificates/signing-request.ts';
import { CERTIFICATE_REQUESTS } from '../client/resources.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { addCondition, hasCondition, isIssued, specOf } from './request.ts';

interface Recognizer {
  readonly subresource: string;
  readonly message: string;
  readonly recognizes: (request: ApiObject, parsed: SigningRequest) => boolean;
}

const RECOGNIZERS: readonly Recognizer[] = [
  {
    subresource: 'selfnodeclient',
    message: 'Auto approving self kubelet client certificate after SubjectAccessReview.',
    recognizes: (request, { commonName }) => text(look(request, 'spec'), 'username') === commonName,
  },
  {
    subresource: 'nodeclient',
    message: 'Auto approving kubelet client certificate after SubjectAccessReview.',
    recognizes: () => true,
  },
];

/**
 * Returns the parsed request for the client certificate of a kubelet. For any other request, the result is undefined,
 * and a user must approve the request.
 */
function kubeletRequest(request: ApiObject): SigningRequest | undefined {
  const { signerName, usages, request: pem } = specOf(request);
  if (signerName !== KUBELET_CLIENT) return undefined;
  try {
    const parsed = readSigningRequest(pem);
    checkKubeletClient(parsed, usages);
    return parsed;
  } catch {
    // For an invalid request, the signing controller reports the error.
    return undefined;
  }
}

function setup({ api, clock, informer, queue }: ControllerContext): void {
  const requests = informer(CERTIFICATE_REQUESTS);

  const isAllowed = async (request: ApiObject, subresource: string): Promise<boolean> => {
    const spec = look(request, 'spec');
    const review = await api.call<{ status: { allowed: boolean } }>(
      '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      'POST',
      {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: {
          user: text(spec, 'username'),
          uid: text(spec, 'uid'),
          groups: strings(spec, 'groups'),
          extra: look(spec, 'extra'),
          resourceAttributes: {
            group: CERTIFICATE_REQUESTS.group,
            resource: CERTIFICATE_REQUESTS.plural,
            version: '*',
            verb: 'create',
            subresource,
          },
        },
      },
    );
    return review.status.allowed;
  };

  const work = queue(async (name) => {
    const request = requests.get(name);
    if (request === undefined || isIssued(request)) return;
    if (hasCondition(request, 'Approved') || hasCondition(request, 'Denied')) return;
    const parsed = kubeletRequest(request);
    if (parsed === undefined) return;
    for (const { subresource, message, recognizes } of RECOGNIZERS) {
      if (!recognizes(request, parsed) || !(await isAllowed(request, subresource))) continue;
      return addCondition(api, request, { type: 'Approved', reason: 'AutoApproved', message }, clock.now());
    }
  });
  requests.onChange(({ type, object }) => {
    if (type !== 'deleted') work.add(object.metadata.name ?? '');
  });
}

/**
 * Approves the certificate request of a kubelet if RBAC allows the requesting user to request such certificates.
 * @see kubernetes pkg/controller/certificates/approver
 */
export const certificateApprover: Controller = { name: 'csrapproving', setup };
