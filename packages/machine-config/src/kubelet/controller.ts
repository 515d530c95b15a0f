import type { Controller } from '@mcm/kube';
import type { ConfigContext } from '../caches.ts';
import { ConfigEvents } from '../constants/conditions.ts';
import { createNodeConfigController, type NodeConfigOptions } from '../node-config/controller.ts';
import { kubeletConfigs } from '../resources.ts';
import { KUBELET_KIND } from './kind.ts';

/** Makes the MachineConfigs of KubeletConfigs. */
export const createKubeletConfigController = (context: ConfigContext, options: NodeConfigOptions): Controller =>
  createNodeConfigController(
    context,
    {
      ...{ name: 'kubelet-config', kind: KUBELET_KIND, informer: context.caches.kubeletConfigs },
      ...{ definition: kubeletConfigs, refused: ConfigEvents.KubeletConfigRefused },
    },
    options,
  );
