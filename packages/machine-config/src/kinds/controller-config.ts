import { crd, objectMeta, optional, stringMap, text, time } from '@mcm/api/crd';
import * as z from 'zod';
import { API_VERSION } from './group.ts';
import { conditions, objectReferenceSchema, observedGeneration, rawObject } from './shared.ts';

const bytes = (description: string) => optional(text(`${description} Base64.`).nullable());

const bundleFileSchema = z.object({
  file: text('Name of the file.'),
  data: optional(text('Content. Base64.')),
});

const bundles = (description: string) =>
  optional(
    crd(z.array(bundleFileSchema.meta({ description: 'A file.' })), {
      description,
      'x-kubernetes-list-type': 'atomic',
    }),
  );

/** Spec of the ControllerConfig: the variables of the templates. */
export const controllerConfigSpecSchema = crd(
  z.object({
    clusterDNSIP: optional(text('Address of the cluster DNS service.')),
    clusterDomain: optional(text('Domain of the cluster. Default `cluster.local`.')),
    apiServerURL: optional(text('URL that nodes use for the API server.')),
    cloudProviderConfig: optional(text('Configuration file of the cloud provider.')),
    platform: optional(text('Deprecated: name of the platform.')),
    etcdDiscoveryDomain: optional(text('Deprecated: DNS domain for the discovery of etcd.')),
    kubeAPIServerServingCAData: bytes('CA of the API server.'),
    rootCAData: bytes('CA of the cluster.'),
    cloudProviderCAData: bytes('CA of the cloud.'),
    additionalTrustBundle: bytes('Additional CAs that nodes trust.'),
    imageRegistryBundleUserData: bundles('CAs of image registries that users add.'),
    imageRegistryBundleData: bundles('CAs of registries.'),
    pullSecret: optional(objectReferenceSchema.nullable()),
    internalRegistryPullSecret: bytes('Pull secret of the internal registry.'),
    images: optional(stringMap('Images by name.')),
    baseOSContainerImage: optional(text('Image of the operating system.')),
    baseOSExtensionsContainerImage: optional(text('Image with the packages of OS extensions.')),
    osImageURL: optional(text('Deprecated: image of the operating system.')),
    releaseImage: optional(text('Image of the release.')),
    proxy: optional(rawObject('Proxy of the cluster.').nullable()),
    infra: optional(rawObject('The Infrastructure object: platform, topology, URLs.').nullable()),
    dns: optional(rawObject('The DNS object.').nullable()),
    ipFamilies: optional(text('`IPv4`, `IPv6`, `DualStack` or `DualStackIPv6Primary`.')),
    networkType: optional(text('Name of the network plugin.')),
    network: optional(rawObject('State of the cluster network.').nullable()),
    parameters: optional(stringMap('Additional values that templates read as `parameters.<name>`.')),
  }),
  { description: 'Variables for the templates of MachineConfigs.', 'x-kubernetes-preserve-unknown-fields': true },
);

/** Spec of the ControllerConfig. */
export type ControllerConfigSpec = z.infer<typeof controllerConfigSpecSchema>;

const controllerCertificateSchema = z
  .object({
    subject: text('Subject of the certificate.'),
    signer: text('Issuer of the certificate.'),
    notBefore: optional(time('Start of the validity period of the certificate.')),
    notAfter: optional(time('End of the validity period of the certificate.')),
    bundleFile: text('File with the certificate.'),
  })
  .meta({ description: 'A certificate that the controller distributes to nodes.' });

const controllerConfigStatusSchema = z
  .object({
    observedGeneration: observedGeneration(),
    conditions: conditions('Conditions of the TemplateController.'),
    controllerCertificates: optional(
      crd(z.array(controllerCertificateSchema), {
        description: 'Certificates that the controller distributes to nodes.',
        'x-kubernetes-list-type': 'atomic',
      }),
    ),
  })
  .meta({ description: 'State of the ControllerConfig, written by the TemplateController.' });

/** Status of the ControllerConfig. */
export type ControllerConfigStatus = z.infer<typeof controllerConfigStatusSchema>;

/** The schema of the ControllerConfig. */
export const controllerConfigSchema = crd(
  z.object({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal('ControllerConfig'),
    metadata: objectMeta,
    spec: optional(controllerConfigSpecSchema),
    status: optional(controllerConfigStatusSchema),
  }),
  {
    description:
      'Variables for all templates of MachineConfigs. The cluster has one ControllerConfig, machine-config-controller.',
  },
);

/** The ControllerConfig. */
export type ControllerConfig = z.infer<typeof controllerConfigSchema>;
