import type { CreateDriver } from '@mcm/conformance';
import { createLocalDriver } from '@mcm/provider-local';

export const createDriver: CreateDriver = ({ clock, connect }) => createLocalDriver({ clock, connect });
