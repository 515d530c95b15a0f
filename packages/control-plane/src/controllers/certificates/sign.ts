import { look } from '../../apimachinery/objects/plain.ts';
import { RefusedRequest, type Signer } from '../../certificates/signer.ts';
import { allowing } from '../client/api.ts';
import { CERTIFICATE_REQUESTS } from '../client/resources.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { addCondition, hasCondition, isIssued, specOf } from './request.ts';

function setup({ api, clock, informer, queue }: ControllerContext, signer: Signer): void {
  const requests = informer(CERTIFICATE_REQUESTS);
  const work = queue(async (name) => {
    const request = requests.get(name);
    if (request === undefined || isIssued(request)) return;
    if (!hasCondition(request, 'Approved') || hasCondition(request, 'Denied') || hasCondition(request, 'Failed'))
      return;
    const spec = specOf(request);
    if (!signer.serves(spec.signerName)) return;
    let certificate: string;
    try {
      certificate = signer.sign(spec);
    } catch (error) {
      if (!(error instanceof RefusedRequest)) throw error;
      const { message } = error;
      return addCondition(api, request, { type: 'Failed', reason: 'SignerValidationFailure', message }, clock.now());
    }
    const status = { ...look(request, 'status'), certificate: Buffer.from(certificate).toString('base64') };
    await allowing(api.update(CERTIFICATE_REQUESTS, { ...request, status }, 'status'), 404, 409);
  });
  requests.onChange(({ type, object }) => {
    if (type !== 'deleted') work.add(object.metadata.name ?? '');
  });
}

/** @see kubernetes pkg/controller/certificates/signer */
export const certificateSigner = (signer: Signer | undefined): Controller => ({
  name: 'csrsigning',
  setup: (context) => {
    if (signer !== undefined) setup(context, signer);
  },
});
