import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { defined, look, type Plain, strings } from '../../../apimachinery/objects/plain.ts';
import { type Api, allowing } from '../../client/api.ts';
import { VOLUMES } from '../../client/resources.ts';
import type { Recorder } from '../../events/events.ts';
import type { Informer } from '../../runtime/informer.ts';
import { type BindingWriter, BOUND_BY_CONTROLLER, referenceTo } from './bind.ts';
import { classOfClaim } from './match.ts';

/** The volumes of the provisioner `kubernetes.io/host-path` are directories of the node. */
export const HOST_PATH = 'kubernetes.io/host-path';
export const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';
/** The finalizer of volumes from built-in provisioners. A volume keeps the finalizer until its storage is deleted. */
export const DELETION_FINALIZER = 'kubernetes.io/pv-controller';
const PROVISIONERS = ['volume.beta.kubernetes.io/storage-provisioner', 'volume.kubernetes.io/storage-provisioner'];

/** Former in-tree plugins, and the CSI driver that replaced each plugin. */
const MIGRATED: Readonly<Record<string, string>> = {
  'kubernetes.io/aws-ebs': 'ebs.csi.aws.com',
  'kubernetes.io/azure-disk': 'disk.csi.azure.com',
  'kubernetes.io/azure-file': 'file.csi.azure.com',
  'kubernetes.io/cinder': 'cinder.csi.openstack.org',
  'kubernetes.io/gce-pd': 'pd.csi.storage.gke.io',
  'kubernetes.io/portworx-volume': 'pxd.portworx.com',
  'kubernetes.io/vsphere-volume': 'csi.vsphere.vmware.com',
};

/** Returns whether an external component creates and deletes the volumes of a provisioner. */
export const isExternal = (provisioner: string): boolean =>
  !provisioner.startsWith('kubernetes.io/') || Object.hasOwn(MIGRATED, provisioner);

export interface Provisioning {
  readonly api: Api;
  readonly writer: BindingWriter;
  readonly classes: Informer;
  readonly tell: Recorder;
}

/** Creates a volume for a claim. */
export async function provision({ api, writer, classes, tell }: Provisioning, claim: ApiObject): Promise<void> {
  const className = classOfClaim(claim);
  const storageClass = classes.get(className);
  const fail = (why: string): void => tell(claim, 'Warning', 'ProvisioningFailed', why);
  if (storageClass === undefined) return fail(`storageclass.storage.k8s.io "${className}" not found`);
  const provisioner = String(storageClass.provisioner);
  if (isExternal(provisioner)) {
    const driver = MIGRATED[provisioner] ?? provisioner;
    if ((await nameProvisioner(writer, claim, driver)) === undefined) return;
    return tell(claim, 'Normal', 'ExternalProvisioning', waitingFor(driver));
  }
  const why = refusalOf(claim, storageClass);
  if (why !== undefined) return fail(why);
  const named = await nameProvisioner(writer, claim, HOST_PATH);
  if (named === undefined) return;
  const volume = hostPathVolume(named, storageClass);
  if ((await allowing(api.create(VOLUMES, volume), 409)) === undefined) return;
  const { name } = volume.metadata;
  tell(claim, 'Normal', 'ProvisioningSucceeded', `Successfully provisioned volume ${name} using ${HOST_PATH}`);
}

const waitingFor = (provisioner: string): string =>
  `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`;

function refusalOf(claim: ApiObject, storageClass: ApiObject): string | undefined {
  const { provisioner } = storageClass;
  const spec = look(claim, 'spec');
  const { name } = storageClass.metadata;
  if (provisioner !== HOST_PATH) return `no volume plugin matched name: ${String(provisioner)}`;
  if (spec.dataSource !== undefined) {
    return `plugin "${HOST_PATH}" is not a CSI plugin. Only CSI plugin can provision a claim with a datasource`;
  }
  const options = strings(storageClass, 'mountOptions');
  if (options.length > 0) {
    return `Mount options are not supported by the provisioner but StorageClass "${name}" has mount options [${options.join(' ')}]`;
  }
  if (spec.volumeMode !== 'Block') return undefined;
  return `Failed to provision volume with StorageClass "${name}": ${HOST_PATH} does not support block volume provisioning`;
}

async function nameProvisioner(
  writer: BindingWriter,
  claim: ApiObject,
  provisioner: string,
): Promise<ApiObject | undefined> {
  const { annotations, resourceVersion } = claim.metadata;
  if (annotations?.['volume.kubernetes.io/storage-provisioner'] === provisioner) return claim;
  const wanted = Object.fromEntries(PROVISIONERS.map((key) => [key, provisioner]));
  return writer.patchClaim(claim, { metadata: { resourceVersion, annotations: wanted } });
}

function hostPathVolume(
  claim: ApiObject,
  storageClass: ApiObject,
): { readonly metadata: { readonly name: string; readonly [field: string]: unknown } } & Plain {
  const spec = look(claim, 'spec');
  const name = `pvc-${claim.metadata.uid}`;
  const policy = storageClass.reclaimPolicy ?? 'Delete';
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: defined({
      name,
      annotations: {
        'kubernetes.io/createdby': 'hostpath-dynamic-provisioner',
        [BOUND_BY_CONTROLLER]: 'yes',
        [PROVISIONED_BY]: HOST_PATH,
      },
      finalizers: policy === 'Delete' ? [DELETION_FINALIZER] : undefined,
    }),
    spec: {
      capacity: { storage: look(spec, 'resources', 'requests').storage },
      accessModes: strings(spec, 'accessModes'),
      persistentVolumeReclaimPolicy: policy,
      storageClassName: classOfClaim(claim),
      claimRef: referenceTo(claim),
      hostPath: { path: `/tmp/hostpath_pv/${claim.metadata.uid}` },
    },
  };
}
