import { look, text } from '../../apimachinery/objects/plain.ts';
import { allowing } from '../client/api.ts';
import { CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS } from '../client/resources.ts';
import { isDying, namespaceOf } from '../objects/fields.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';

const ACCOUNT = 'default';
const ROOT_CA = 'kube-root-ca.crt';
const ROOT_CA_DESCRIPTION =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.';

function setupAccounts({ api, informer, queue }: ControllerContext): void {
  const namespaces = informer(NAMESPACES);
  const accounts = informer(SERVICE_ACCOUNTS);
  const work = queue(async (name) => {
    const namespace = namespaces.get(name);
    if (namespace === undefined || isDying(namespace) || accounts.get(`${name}/${ACCOUNT}`) !== undefined) return;
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: ACCOUNT } };
    await allowing(api.create(SERVICE_ACCOUNTS, account, { namespace: name }), 403, 404, 409);
  });
  namespaces.onChange(({ object, old }) => {
    if (old === undefined) work.add(object.metadata.name ?? '');
  });
  accounts.onChange(({ type, object }) => {
    if (type === 'deleted' && object.metadata.name === ACCOUNT) work.add(namespaceOf(object));
  });
}

/** @see kubernetes pkg/controller/serviceaccount */
export const serviceAccounts: Controller = { name: 'serviceaccount', setup: setupAccounts };

function setupRootCa({ api, informer, queue }: ControllerContext, caCertificate: string): void {
  const namespaces = informer(NAMESPACES);
  const configMaps = informer(CONFIG_MAPS);
  const data = { 'ca.crt': caCertificate };
  const work = queue(async (name) => {
    const namespace = namespaces.get(name);
    if (namespace === undefined || isDying(namespace)) return;
    const known = configMaps.get(`${name}/${ROOT_CA}`);
    if (known === undefined) {
      const metadata = { name: ROOT_CA, annotations: { 'kubernetes.io/description': ROOT_CA_DESCRIPTION } };
      const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
      await allowing(api.create(CONFIG_MAPS, configMap, { namespace: name }), 403, 404, 409);
    } else if (text(look(known, 'data'), 'ca.crt') !== caCertificate) {
      await allowing(api.patch(CONFIG_MAPS, { namespace: name, name: ROOT_CA }, { data }), 404, 409);
    }
  });
  namespaces.onChange(({ object, old }) => {
    if (old === undefined) work.add(object.metadata.name ?? '');
  });
  configMaps.onChange(({ object }) => {
    if (object.metadata.name === ROOT_CA) work.add(namespaceOf(object));
  });
}

/** @see kubernetes pkg/controller/certificates/rootcacertpublisher */
export const rootCaPublisher = (caCertificate: string | undefined): Controller => ({
  name: 'root-ca-certificate-publisher',
  setup: (context) => {
    if (caCertificate !== undefined) setupRootCa(context, caCertificate);
  },
});
