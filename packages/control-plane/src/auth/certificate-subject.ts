import { child } from '../apimachinery/objects/plain.ts';
import type { AdmissionPlugin } from '../resources/admission.ts';

const REQUESTS = 'certificates.k8s.io/certificatesigningrequests';

/** Sets the user fields of a new CertificateSigningRequest to the user of the request. */
export const certificateRequester: AdmissionPlugin = {
  name: 'CertificateRequester',
  admit({ operation, served, subresource, object, user }) {
    if (served.resource !== REQUESTS || operation !== 'CREATE' || subresource !== '' || object === undefined) {
      return undefined;
    }
    const spec = child(object, 'spec');
    for (const field of ['username', 'uid', 'groups', 'extra']) delete spec[field];
    spec.username = user.name;
    if (user.uid !== undefined && user.uid !== '') spec.uid = user.uid;
    spec.groups = [...user.groups];
    if (user.extra !== undefined) spec.extra = structuredClone(user.extra);
    return undefined;
  },
};
